import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEanFile } from '../../src/extract/ean-csv.ts';
import { canonicalPrice, EanList, type ListedEan, takeRows } from '../../src/extract/ean-list.ts';

const A = '8712626055143';
const B = '0604020064587';
const C = '8804269223123';

const NOTHING = async () => undefined;

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'etl-eans-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

interface Read {
  readonly list: EanList;
  readonly questions: ListedEan[];
}

async function listOf(content: string | Uint8Array): Promise<Read> {
  const file = path.join(await folder(), 'eans.csv');
  await writeFile(file, content);
  const list = new EanList('NEW');
  const questions: ListedEan[] = [];
  await readEanFile(file, list, async () => void questions.push(...list.newQuestions()));
  return { list, questions };
}

/** Questions as `ean condition price`. */
function told(questions: readonly ListedEan[]): string[] {
  return questions.map(({ ean, condition, price }) => `${ean} ${condition} ${price}`);
}

describe('the file of EANs', () => {
  test.each<[string, string, string[]]>([
    ['bare EANs', `${A}\n${B}\n`, [`${A} NEW null`, `${B} NEW null`]],
    ['no line end at the end', `${A}\n${B}`, [`${A} NEW null`, `${B} NEW null`]],
    ['a header', `ean,price,condition\n${A},12.50,GOOD\n`, [`${A} GOOD 12.5`]],
    ['a header in any order and case', `Note;Price;EAN\nx;12,50;${A}\n`, [`${A} NEW 12.5`]],
    ['semicolons and decimal commas', `${A};1234,5;as_new\r\n${B};0,05\r\n`, [`${A} AS_NEW 1234.5`, `${B} NEW 0.05`]],
    ['tabs', `${A}\t12,5\tModerate\n`, [`${A} MODERATE 12.5`]],
    ['a byte order mark', `\ufeffEAN,price\n${A},3`, [`${A} NEW 3`]],
    ['quotes', `"ean","price"\n"${A}","12,5"\n "${B}" ,"1"\n`, [`${B} NEW 1`]],
    [
      'comments and empty lines',
      `# most valuable first\n\n${A}\n  \n#${C}\n${B}\n`,
      [`${A} NEW null`, `${B} NEW null`],
    ],
    ['the delimiter of a later line', `ean\n${A};7\n`, [`${A} NEW null`]],
    ['empty fields behind the last', `${A},,\n${B},1,,,\n`, [`${A} NEW null`, `${B} NEW 1`]],
    ['spaces round fields', ` ${A} , 7.00 , good \n`, [`${A} GOOD 7`]],
    ['nothing', '', []],
    ['a header alone', 'ean,price\n', []],
  ])('%s', async (_, content, questions) => {
    expect(told((await listOf(content)).questions)).toEqual(questions);
  });

  test.each<[string, string, string]>([
    [`${A.slice(0, 12)}4`, 'bad_ean', `"${A.slice(0, 12)}4" has the check digit 4, which should be 3`],
    ['8.71263E+12', 'bad_ean', 'spreadsheet took it for a number'],
    ['8712626055143.0', 'bad_ean', 'taken for a number'],
    ['604020064587', 'bad_ean', '0604020064587 would be an EAN'],
    [',12', 'bad_ean', 'the EAN is empty'],
    ['hello', 'bad_ean', '"hello" has other characters than digits'],
    [`${A},0`, 'bad_price', '"0" is no price'],
    [`${A},-1`, 'bad_price', '"-1" is no price'],
    [`${A},1e2`, 'bad_price', 'no exponent'],
    [`${A},1.2345678`, 'bad_price', 'at most 6 decimals'],
    [`${A},€ 5`, 'bad_price', 'is no price'],
    [`${A},1,USED`, 'bad_condition', '"USED" is none of NEW, AS_NEW'],
    [`${A},12,50`, 'bad_condition', '"50" is none of'],
    [`${A},12,50,NEW`, 'bad_line', 'decimal comma needs quotes'],
    [`"${A},1`, 'bad_line', 'a quote is not closed'],
    [`"${A}"x,1`, 'bad_line', 'text stands beside it'],
    [`${A},${'1'.repeat(5000)}`, 'bad_line', 'longer than 4096'],
  ])('%s is set aside as %s', async (line, reason, detail) => {
    const { list, questions } = await listOf(`${C}\n# a comment\n${line}\n${B}\n`);
    expect(told(questions)).toEqual([`${C} NEW null`, `${B} NEW null`]);
    expect(list.rejects).toEqual([
      { from: 'file', line: 3, reason, detail: expect.stringContaining(detail), raw: line.slice(0, 200) },
    ]);
  });

  test('a line that never ends costs one reject', async () => {
    const { list, questions } = await listOf(`${A}\n${'x'.repeat(3_000_000)}\n${B}\n`);
    expect(told(questions)).toEqual([`${A} NEW null`, `${B} NEW null`]);
    expect(list.rejects.map(({ line, reason, raw }) => [line, reason, raw.length])).toEqual([[2, 'bad_line', 200]]);
  });

  test('of very many rejects the first are kept and all are counted', async () => {
    const { list } = await listOf('x\n'.repeat(12_000));
    expect([list.rejects.length, list.rejected]).toEqual([10_000, 12_000]);
  });

  test('a file that is missing is told with the fix', async () => {
    const file = path.join(await folder(), 'none.csv');
    await expect(readEanFile(file, new EanList('NEW'), NOTHING)).rejects.toMatchObject({
      kind: 'usage',
      code: 'ean_file',
      message: `the EAN list ${file} does not exist`,
      hint: expect.stringContaining('eans.file'),
    });
  });

  test('a folder, and a text in UTF-16, are told likewise', async () => {
    await expect(readEanFile(await folder(), new EanList('NEW'), NOTHING)).rejects.toMatchObject({
      kind: 'usage',
      code: 'ean_file',
    });
    await expect(listOf(Buffer.from(`\ufeff${A}\n`, 'utf16le'))).rejects.toMatchObject({
      kind: 'usage',
      code: 'ean_file',
      hint: 'save it as CSV in UTF-8',
    });
  });
});

describe('rows of a query', () => {
  test('are checked alike', async () => {
    const list = new EanList('NEW');
    takeRows(
      [
        { EAN: A, price: '2.000000', condition: 'NEW' },
        { EAN: B, price: null, condition: null },
        { EAN: '12', price: null },
        { ean: 8804269223123n, price: '7.100000', condition: 'good' },
      ],
      list,
    );
    expect(told(list.newQuestions())).toEqual([`${A} NEW 2`, `${B} NEW null`, `${C} GOOD 7.1`]);
    expect(list.newQuestions()).toEqual([]);
    expect(list.rejects).toMatchObject([{ from: 'query', line: 3, reason: 'bad_ean', raw: '12,,' }]);
  });
});

describe('a price', () => {
  test.each([
    ['12', '12'],
    ['012.500', '12.5'],
    ['0.000001', '0.000001'],
    ['999999999999.999999', '999999999999.999999'],
    ['0.1000000000', '0.1'],
    ['1000000000000', undefined],
    ['0.0000001', undefined],
    ['0.000', undefined],
    ['.5', undefined],
    ['5.', undefined],
    ['1,5', undefined],
  ])('%s is written as %s', (text, written) => {
    expect(canonicalPrice(text)).toBe(written);
  });
});
