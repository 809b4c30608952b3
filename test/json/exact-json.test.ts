import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ExactJson,
  ExactNumber,
  exactText,
  MOST_LEVELS,
  parseDocument,
  parseExact,
  storableText,
} from '../../src/json/exact-json.ts';

/** The value as the language's own parser would give it. */
function plain(value: ExactJson): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, member]) => [name, plain(member)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

function errorOf(text: string): unknown {
  try {
    parseExact(text);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('exact JSON', () => {
  test.each([
    '12345678901234567890.123456789012345678901234567890',
    '-0.10',
    '1E+400',
    '0',
    '-0',
    '9007199254740993.1',
  ])('the number %s keeps every digit', (text) => {
    expect(exactText(parseExact(` ${text} `))).toBe(text);
    expect(exactText(parseExact(`{"a":[${text}]}`))).toBe(`{"a":[${text}]}`);
  });

  test.each([
    ['{"b":1,"a":{"d":[],"c":null}}', '{"a":{"c":null,"d":[]},"b":1}'],
    ['\ufeff[ true , false , null ]', '[true,false,null]'],
    ['"\\u00e9\\n\\/\\"\\\\ 😀 \\ud83d\\ude00"', JSON.stringify('é\n/"\\ 😀 😀')],
    ['{"__proto__":1,"constructor":2,"10":3,"9":4}', '{"10":3,"9":4,"__proto__":1,"constructor":2}'],
    ['{"":""}', '{"":""}'],
  ])('%s is written as %s', (text, written) => {
    expect(exactText(parseExact(text))).toBe(written);
  });

  test.each([
    ['', 'a value is expected at character 0'],
    ['{"a":1', 'a comma or the end of the object is expected at character 6'],
    ['[1,2', 'a comma or the end of the array is expected at character 4'],
    ['[1,]', 'a value is expected at character 3'],
    ['{"a":1,}', 'the name of a member is expected at character 7'],
    ['{a:1}', 'the name of a member is expected at character 1'],
    ['{"a" 1}', 'a colon is expected at character 5'],
    ['[01]', 'a comma or the end of the array is expected at character 2'],
    ['-', 'a digit is expected at character 1'],
    ['1.', 'a digit is expected at character 2'],
    ['1e', 'a digit is expected at character 2'],
    ['+1', 'a value is expected at character 0'],
    ['.5', 'a value is expected at character 0'],
    ['NaN', 'a value is expected at character 0'],
    ['"a', 'a text has no end at character 2'],
    ['"\\', 'an escape is unknown at character 1'],
    ['"\\u12G4"', 'an escape is unknown at character 1'],
    ['"\\x"', 'an escape is unknown at character 1'],
    ['"\t"', 'a control character stands in a text at character 1'],
    ['"\\n\u0001"', 'a control character stands in a text at character 3'],
    ['{} {}', 'something stands behind the end at character 3'],
    ['nulls', 'something stands behind the end at character 4'],
    ['<html>', 'a value is expected at character 0'],
  ])('%j is refused: %s', (text, message) => {
    const error = errorOf(text);
    expect(error).toBeInstanceOf(SyntaxError);
    expect((error as Error).message).toBe(message);
  });

  test('nesting is accepted up to the limit and refused beyond it', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(exactText(parseExact(nested(MOST_LEVELS)))).toBe(nested(MOST_LEVELS));
    expect(errorOf(nested(MOST_LEVELS + 1))).toBeInstanceOf(SyntaxError);
    expect(errorOf('['.repeat(1_000_000))).toBeInstanceOf(SyntaxError);
  });

  test('an object of more than 1,000 members is refused', () => {
    const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')}}`;
    expect(errorOf(members(1000))).toBeUndefined();
    expect(errorOf(members(1001))).toBeInstanceOf(SyntaxError);
  });

  test('what was fixed is told with the member in which it was found', () => {
    const { value, fixes } = parseDocument(
      '{"a":"x\\ud800y\\udc00","b":[{"c":"\\u0000\\u0000z"},"\\u0000"],"d":1,"d":2,"e\\u0000":"\ud83d"}',
    );
    expect(exactText(value)).toBe('{"a":"x\ufffdy\ufffd","b":[{"c":"z"},""],"d":2,"e":"\ufffd"}');
    expect(fixes).toEqual([
      { kind: 'lone_surrogate', name: 'a', count: 2 },
      { kind: 'nul_removed', name: 'c', count: 2 },
      { kind: 'nul_removed', name: 'b', count: 1 },
      { kind: 'duplicate_key', name: 'd', count: 1 },
      { kind: 'nul_removed', name: '', count: 1 },
      { kind: 'lone_surrogate', name: 'e', count: 1 },
    ]);
  });

  test('the sent text of a record is what stood in the document', () => {
    const record = '{ "b" : 1.0,"a":[ {"deep":1} ] }';
    const { value, sentText } = parseDocument(`\n{"commissions":[${record}, 12 ]}`);
    const records = (value as ReadonlyMap<string, ExactJson[]>).get('commissions')!;
    expect(records.map(sentText)).toEqual([record, '12']);
  });

  test('a bulk answer with its white space reads as the language itself reads it', () => {
    const text = `{\n  "commissions" : [ {\n "ean" : "8718526069334", "unitPrice" : 25.00, "totalCost":3.82,\r\n
      "reductions" : [ { "maximumPrice" : 25.99 , "startDate" : "2018-04-25" } ] }\t]\n}\n`;
    expect(plain(parseExact(text))).toEqual(JSON.parse(text));
    expect(exactText(parseExact(text))).toContain('"unitPrice":25.00');
  });

  test('any JSON text reads as the language itself reads it, and sorted text is one text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), (json, isIndented) => {
        const text = JSON.stringify(json, null, isIndented ? 2 : 0);
        const value = parseExact(text);
        if (!/\\u0000|\\ud[89a-f]/i.test(text)) expect(JSON.parse(exactText(value))).toEqual(JSON.parse(text));
        expect(exactText(parseExact(exactText(value)))).toBe(exactText(value));
      }),
      { numRuns: 300 },
    );
  });

  test('any text is either refused or accepted as the language does', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      'a',
      '\\',
      '1',
      '-',
      '.',
      'e',
      '0',
      ' ',
      'true',
      'null',
      '"b":',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(errorOf(text) === undefined).toBe(isJson);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('a text that a warehouse can hold', () => {
  test.each([
    ['{"a":1e1000,"b":[1.50,-0.1E-7]}', '{"a":1e1000,"b":[1.50,-0.1E-7]}', []],
    ['{"a":1e999999}', '{"a":"1e999999"}', ['1e999999']],
    ['[{"a":{"b":-2E+1001}},3e-1001]', '[{"a":{"b":"-2E+1001"}},"3e-1001"]', ['-2E+1001', '3e-1001']],
    ['"1e999999"', '"1e999999"', []],
  ])('%s is %s', (given, expected, told) => {
    const huge: string[] = [];
    expect(storableText(parseExact(given), (number) => huge.push(number))).toBe(expected);
    expect(huge).toEqual(told);
  });

  test('has no number of more than a thousand digits', () => {
    const digits = '9'.repeat(1001);
    expect(storableText(parseExact(`[${digits}]`), () => undefined)).toBe(`["${digits}"]`);
  });
});
