import { describe, expect, it } from 'vitest';
import { bytesOf, LIMITS_OF_TESTS, outcomeOf, type Parts, withNames } from './split-outcome.ts';

/** The line that this item gives, without the keys that say where it was: the second time as the first. */
function lineOf(...item: Parts): string {
  const { lines, rejects, refused } = outcomeOf(bytesOf('{"items":[', ...item, ',', ...item, ']}'));
  expect({ rejects, refused }).toEqual({ rejects: [], refused: undefined });
  const [first, second, ...more] = lines.map((line) => line.replace(/^\{"_i":"\d","_o":"\d+","_l":"\d+",?/, '{'));
  expect([second, more]).toEqual([first, []]); // the second one may take the fast path, the first one seldom does
  return first!;
}

/** For what this item is rejected, the second time as the first, between two sound ones. */
function rejectOf(...item: Parts): string {
  const bytes = bytesOf('{"items":[{"id":"before"},', ...item, ',', ...item, ',{"id":"behind"}]}');
  const { lines, rejects, result } = outcomeOf(bytes);
  expect(result).toMatchObject({ items: 4, lines: 2, rejects: 2, bytes: bytes.length });
  const length = bytesOf(...item).length;
  expect(lines).toEqual([
    '{"_i":"0","_o":"10","_l":"15","id":"before"}',
    `{"_i":"3","_o":"${28 + 2 * length}","_l":"15","id":"behind"}`,
  ]);
  const [first, second] = rejects;
  expect(first).toMatchObject({ item: 1, offset: 26, length });
  expect(second).toMatchObject({ item: 2, offset: 27 + length, length, reason: first!.reason });
  expect(first!.detail).toMatch(/ \(byte \d+\)$/);
  return first!.reason;
}

describe('a line of the splitter', () => {
  it.each([
    ['{}', '{}'],
    ['{"id":"a"}', '{"id":"a"}'],
    [' { "id" :\t"a b" ,\r\n"price" : 1 } ', '{"id":"a b","price":"1"}'],
    ['{"price":12.10,"id":"x"}', '{"price":"12.10","id":"x"}'],
    ['{"id":"a","id2":1,"price":2}', '{"id":"a","price":"2","_x":"{\\"id2\\":1}"}'],
    ['{"final":true,"price":-0}', '{"final":"true","price":"-0"}'],
    ['{"final":false}', '{"final":"false"}'],
    ['{"id":null,"price":null,"final":null}', '{"id":null,"price":null,"final":null}'],
    ['{"id":"null"}', '{"id":"null"}'],
    ['{"id":""}', '{"id":""}'],
    ['{"naïve \\"q\\"":"y"}', '{"naïve \\"q\\"":"y"}'],
    ['{"na\\u00efve\\u0020\\u0022q\\"":"y"}', '{"naïve \\"q\\"":"y"}'],
    ['{"\\u0069d":"a"}', '{"id":"a"}'],
    ['{"i\\u0000d":"a"}', '{"id":"a"}'],
    ['{"ID":"a"}', '{"_x":"{\\"ID\\":\\"a\\"}"}'],
  ])('of %s is %s', (item, line) => {
    expect(lineOf(item.trim())).toBe(line);
    expect(lineOf(item)).toBe(line);
  });

  it.each([
    '0',
    '-0',
    '0.0',
    '12345678901234567890.12345678901234567890',
    '1e5',
    '1E+5',
    '1.5e-300',
    '1e400',
    '9007199254740993.1',
  ])('keeps every digit of %s', (literal) => {
    expect(lineOf(`{"price":${literal}}`)).toBe(`{"price":"${literal}"}`);
    expect(lineOf(`{"price" : ${literal} , "id":"a"}`)).toBe(`{"price":"${literal}","id":"a"}`);
    expect(lineOf(`{"new":[${literal}]}`)).toBe(`{"_x":"{\\"new\\":[${literal}]}"}`);
  });

  it.each([
    ['\\"\\\\\\/\\b\\f\\n\\r\\t', '\\"\\\\\\/\\b\\f\\n\\r\\t'],
    ['\\u00e9\\u00E9é', '\\u00e9\\u00E9é'],
    ['\\ud83d\\ude00\\uD83D\\uDE00😀', '\\ud83d\\ude00\\uD83D\\uDE00😀'],
    ['\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff', '\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff'],
    ['\u{10000}\u{3ffff}\u{40000}\u{10ffff}', '\u{10000}\u{3ffff}\u{40000}\u{10ffff}'],
    ['\u2028\ufeff', '\u2028\ufeff'],
    ['\\u0001\\u001f', '\\u0001\\u001f'],
    ['a\\u0000b\\u0000', 'ab'],
    ['\\ud800', '\ufffd'],
    ['\\udfffx', '\ufffdx'],
    ['\\ud83dé', '\ufffdé'],
    ['\\ud83d\\n', '\ufffd\\n'],
    ['\\ud83d\\u0041', '\ufffd\\u0041'],
    ['\\ud83d\\ud83d\\ude00', '\ufffd\\ud83d\\ude00'],
    ['\\ude00\\ud83d', '\ufffd\ufffd'],
    ['\\ud83d\\u0000\\ude00', '\ufffd\ufffd'],
    ['\\ud83d\\ud83d\\ud83d', '\ufffd\ufffd\ufffd'],
    ['\\u0000\\ud83d\\ude00\\u0000', '\\ud83d\\ude00'],
    ['x'.repeat(300), 'x'.repeat(300)],
  ])('holds the text %s as %s', (text, kept) => {
    expect(lineOf(`{"id":"${text}"}`)).toBe(`{"id":"${kept}"}`);
    const inside = kept.replace(/["\\]/g, '\\$&');
    expect(lineOf(`{"n":"${text}"}`)).toBe(`{"_x":"{\\"n\\":\\"${inside}\\"}"}`);
    expect(lineOf(`{"n":[{"${text}":1}]}`)).toBe(`{"_x":"{\\"n\\":[{\\"${inside}\\":1}]}"}`);
  });

  it('has unknown fields in one object, with their tokens as they were and no white space between', () => {
    expect(
      lineOf('{ "a" : [ 1.0 , { } , [ ] , {"b":{"c":"\\u0041 \\/"} , "d":null} , true ] , "id":"x", "e\\"":false }'),
    ).toBe(
      '{"id":"x","_x":"{\\"a\\":[1.0,{},[],{\\"b\\":{\\"c\\":\\"\\\\u0041 \\\\/\\"},\\"d\\":null},true],\\"e\\\\\\"\\":false}"}',
    );
  });

  it.each([
    ['{"price":"12.10"}', '{"price":"12.10"}'],
    ['{"price":"\\u0031\\u002e5"}', '{"price":"1.5"}'],
    ['{"final":"true"}', '{"final":"true"}'],
    ['{"final":"fals\\u0065"}', '{"final":"false"}'],
    ['{"id":12.10}', '{"id":"12.10"}'],
    ['{"id":true}', '{"id":"true"}'],
  ])('lets %s pass as %s', (item, line) => {
    expect(lineOf(item)).toBe(line);
  });

  it.each([
    ['{"price":"12,10"}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"price":" 1"}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"price":""}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"price":"1\\u00e9"}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"price":true}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"price":{"a":[1,"x"]},"id":"y"}', '{"price":null,"id":"y","_b":"bad_number:price"}'],
    ['{"price":[]}', '{"price":null,"_b":"bad_number:price"}'],
    ['{"final":1}', '{"final":null,"_b":"bad_boolean:final"}'],
    ['{"final":"True"}', '{"final":null,"_b":"bad_boolean:final"}'],
    ['{"final":{}}', '{"final":null,"_b":"bad_boolean:final"}'],
    ['{"id":[["\\u0000"]]}', '{"id":null,"_b":"bad_text:id"}'],
    ['{"naïve \\"q\\"":{}}', '{"naïve \\"q\\"":null,"_b":"bad_text:naïve \\"q\\""}'],
    ['{"final":3,"price":"x","id":{}}', '{"final":null,"price":null,"id":null,"_b":"bad_boolean:final"}'],
    ['{"final":3,"new":1}', '{"final":null,"_x":"{\\"new\\":1}","_b":"bad_boolean:final"}'],
  ])('names the first value of a wrong type: %s gives %s', (item, line) => {
    expect(lineOf(item)).toBe(line);
  });

  it('says number, offset and length of its item, however many digits those have', () => {
    const items = [1, 90, 900, 3, 2000, 91, 89].map((size) => `{"id":"${'x'.repeat(size)}"}`);
    const answer = bytesOf(`\ufeff{"items":[${items.join(', ')}]}`);
    const { lines } = outcomeOf(answer);
    const said = lines.map((line) => JSON.parse(line) as Record<string, string>);
    const texts = said.map(({ _o, _l }) => answer.slice(Number(_o), Number(_o) + Number(_l)).toString());
    expect(said.map(({ _i }) => _i)).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(texts).toEqual(items.map((item) => bytesOf(item).toString()));
  });
});

describe('an item of an answer', () => {
  it.each(
    withNames([
      ['not_an_object', ['null']],
      ['not_an_object', ['"text"']],
      ['not_an_object', ['"te\\"x]t"']],
      ['not_an_object', ['17']],
      ['not_an_object', ['nonsense']],
      ['not_an_object', ['[]']],
      ['not_an_object', ['[{"a":[1,2,{"b":"]"}]},"\\\\"]']],
      ['invalid_utf8', ['{"id":"', 0x80, '"}']],
      ['invalid_utf8', ['{"id":"', 0xff, '"}']],
      ['invalid_utf8', ['{"id":"', 0xc3, '"}']],
      ['invalid_utf8', ['{"id":"', 0xc3, 'x"}']],
      ['invalid_utf8', ['{"id":"', 0xe2, 0x82, '"}']],
      ['invalid_utf8', ['{"id":"', 0xe2, 0x82, '\\n"}']],
      ['invalid_utf8', ['{"id":"', 0xc0, 0x80, '"}']],
      ['invalid_utf8', ['{"id":"', 0xc1, 0xbf, '"}']],
      ['invalid_utf8', ['{"id":"', 0xe0, 0x9f, 0xbf, '"}']],
      ['invalid_utf8', ['{"id":"', 0xf0, 0x8f, 0xbf, 0xbf, '"}']],
      ['invalid_utf8', ['{"id":"', 0xed, 0xa0, 0x80, '"}']],
      ['invalid_utf8', ['{"id":"', 0xed, 0xbf, 0xbf, '"}']],
      ['invalid_utf8', ['{"id":"', 0xf4, 0x90, 0x80, 0x80, '"}']],
      ['invalid_utf8', ['{"id":"', 0xf5, 0x80, 0x80, 0x80, '"}']],
      ['invalid_utf8', ['{"', 0xff, '":1}']],
      ['invalid_utf8', ['{"new":{"', 0xc3, '":1}}']],
      ['invalid_utf8', ['{"price":["', 0xc3, '"]}']],
      ['duplicate_key', ['{"id":"a","id":"a"}']],
      ['duplicate_key', ['{"id":"a","\\u0069d":"b"}']],
      ['duplicate_key', ['{"id":"a","price":1,"id":[]}']],
      ['duplicate_key', ['{"new":1,"n\\u0065w":1}']],
      ['duplicate_key', ['{"new":1,"new\\u0000":1}']],
      ['duplicate_key', ['{"new":{"a":1,"b":[{"a":1}],"a":2}}']],
      ['duplicate_key', ['{"new":[{"é":1,"\\u00e9":1}]}']],
      ['duplicate_key', ['{"price":{"a":1,"a":1}}']],
      ['duplicate_key', ['{"new":{"a":{"b":1},"c":1,"c":2}}']],
      ['duplicate_key', ['{"id":"a","final":true,"price":1,"final":true}']],
      ['duplicate_key', ['{"":1,"":1}']],
      ['duplicate_key', ['{"new":{"\\ud83d\\ude00":1,"😀":1}}']],
      ['control_character', ['{"id":"a', 0x0a, '"}']],
      ['control_character', ['{"id":"a', 0x00, '"}']],
      ['control_character', ['{"id":"a', 0x1f, '"}']],
      ['control_character', ['{"i', 0x09, 'd":"a"}']],
      ['bad_escape', ['{"id":"\\a"}']],
      ['bad_escape', ['{"id":"\\u12"}']],
      ['bad_escape', ['{"id":"\\u12G4"}']],
      ['bad_escape', ['{"id":"\\uD83D\\u"}']],
      ['bad_escape', ['{"id":"\\U0041"}']],
      ['bad_escape', ['{"id":"\\\'"}']],
      ['bad_escape', ['{"\\x":1}']],
      ...[
        '01',
        '-01',
        '1.',
        '.5',
        '+1',
        '-',
        '--1',
        '1e',
        '1e+',
        '1.e5',
        '0x1',
        'NaN',
        'Infinity',
        '-Infinity',
        '1.5.5',
        '1-2',
      ].map((token): [string, string[]] => ['bad_literal', [`{"price":${token}}`]]),
      ...['tru', 'trux', 'falsx', 'True', 'nul', 'nulll', 'truefalse', 'undefined', 'false1', 'TRUE'].map(
        (token): [string, string[]] => ['bad_literal', [`{"final":${token}}`]],
      ),
      ['bad_literal', ['{"id":01}']],
      ['bad_literal', ['{"new":[1,2,tru]}']],
      ['bad_literal', ['{"price":{"a":01}}']],
      ['too_deep', ['{"new":[[[[[[[[]]]]]]]]}']],
      ['too_deep', ['{"new":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}']],
      ['too_deep', [`{"new":${'['.repeat(300)}${']'.repeat(300)}}`]],
      ['item_too_large', [`{"id":"${'x'.repeat(5000)}"}`]],
      ['item_too_large', [`{"new":"${'\\"'.repeat(3000)}"}`]],
      ['item_too_large', [`{"news":"${'\\"'.repeat(3000)}"}`]],
      ['item_too_large', [`{"new":${'1'.repeat(5000)}}`]],
      ['item_too_large', [`{"new":[${'1,'.repeat(3000)}1]}`]],
      ['item_too_large', [`{${' '.repeat(5000)}}`]],
      ['item_too_large', [`{"${'k'.repeat(5000)}":1}`]],
    ]),
  )('is rejected alone as $reason: $name', ({ reason, parts }) => {
    expect(rejectOf(...parts)).toBe(reason);
  });

  it.each(
    withNames([
      ['bad_literal', ['{"price":01,"id":"', 0xff, '","id":"\\q"}']],
      ['invalid_utf8', ['{"id":"', 0xff, '","price":01}']],
      ['invalid_utf8', ['{"id":"', 0xff, '\\q\\"', 0x0a, '"}']],
      ['bad_escape', ['{"id":"\\q\\u12', 0xff, '"}']],
      ['duplicate_key', ['{"id":"","id":01}']],
      ['not_an_object', ['["', 0xff, '\\q"]']],
      ['bad_literal', [`{"price":01,"id":"${'x'.repeat(5000)}"}`]],
      ['item_too_large', [`{"id":"${'x'.repeat(5000)}","price":01}`]],
    ]),
  )('with several faults is rejected for the first, $reason: $name', ({ reason, parts }) => {
    expect(rejectOf(...parts)).toBe(reason);
  });

  it.each([4095, 4096, 4097])('of %d bytes is measured against the limit of 4096', (size) => {
    const frame = '{"id":"","new":[]}';
    const item = `{"id":"${'x'.repeat(size - frame.length)}","new":[]}`;
    const { lines, rejects } = outcomeOf(bytesOf(`{"items":[${item}]}`));
    expect([lines.length, rejects.map(({ reason }) => reason)]).toEqual(
      size > LIMITS_OF_TESTS.itemBytes ? [0, ['item_too_large']] : [1, []],
    );
  });

  it('is rejected when it repeats a field in an order that the items before had', () => {
    const answer = bytesOf(
      '{"items":[{"price":1,"id":"a"},{"id":"b","price":2},{"id":"c","price":3,"id":"d"},{"id":"e"}]}',
    );
    const { lines, rejects } = outcomeOf(answer);
    expect(rejects).toMatchObject([{ item: 2, reason: 'duplicate_key' }]);
    expect(lines).toHaveLength(3);
  });

  it('may nest as deep as the limit', () => {
    expect(lineOf('{"new":[[[[[[[1]]]]]]]}')).toBe('{"_x":"{\\"new\\":[[[[[[[1]]]]]]]}"}');
  });

  it('may have keys that hash alike', () => {
    expect(lineOf('{"costarring":1,"liquid":2,"declinate":3,"macallums":4}')).toBe(
      '{"_x":"{\\"costarring\\":1,\\"liquid\\":2,\\"declinate\\":3,\\"macallums\\":4}"}',
    );
  });

  it('may have the same key in objects beside and inside each other', () => {
    expect(lineOf('{"a":{"a":{"a":1},"b":{"a":1}},"b":[{"a":1},{"a":1}]}')).toContain('"_x"');
  });
});
