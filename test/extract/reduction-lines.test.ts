import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ReductionFormat, reductionLines } from '../../src/extract/reduction-lines.ts';
import { madeLines } from './made-lines.ts';

const HEADER = 'EAN,MaximumPrice,CostReduction,StartDate,EndDate';
const LINE = '0000000000055,32.65,15.92,2018-05-03,2018-05-04';
const FORMAT: ReductionFormat = {
  delimiter: ',',
  columns: {
    ean: 'EAN',
    maximumPrice: 'MaximumPrice',
    costReduction: 'CostReduction',
    startDate: 'StartDate',
    endDate: 'EndDate',
  },
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-reductions-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Made {
  readonly lines: readonly Record<string, string>[];
  /** How many of them were only copied. */
  readonly plain: number;
  readonly drift: readonly { readonly kind: string; readonly field: string; readonly count: number }[];
  readonly hasExponents: boolean;
}

async function made(file: string | Uint8Array, format = FORMAT, chunkBytes = 7): Promise<Made> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file;
  async function* body() {
    for (let i = 0; i < bytes.length; i += chunkBytes) yield bytes.subarray(i, i + chunkBytes);
  }
  const files = { plain: path.join(folder, 'lines.csv'), others: path.join(folder, 'lines.ndjson') };
  const read = await reductionLines(body(), format, files);
  const { plain, all } = await madeLines(read);
  expect(all).toHaveLength(read.lines);
  const others = (await readFile(files.others, 'utf8')).split('\n');
  for (const text of others) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(read.longestLineBytes);
  return { lines: all, plain: plain.length, drift: read.drift, hasExponents: read.hasExponents };
}

const told = {
  ean: '0000000000055',
  maximumPrice: '32.65',
  costReduction: '15.92',
  startDate: '2018-05-03',
  endDate: '2018-05-04',
};

describe('the reductions file', () => {
  test('becomes lines of text', async () => {
    const { lines, drift } = await made(`${HEADER}\n${LINE}\n`);
    expect(lines).toEqual([{ _i: '0', _raw: LINE, ...told }]);
    expect(drift).toEqual([]);
  });

  const SAME: readonly (readonly [string, string])[] = [
    ['a byte order mark', `\ufeff${HEADER}\n${LINE}\n`],
    ['CRLF', `${HEADER}\r\n${LINE}\r\n`],
    ['no line end at its end', `${HEADER}\n${LINE}`],
    ['blank lines', `\n${HEADER}\n\n${LINE}\n\n`],
    ['other upper and lower case', `ean,MAXIMUMPRICE,costReduction,startdate,EndDate\n${LINE}\n`],
    [
      'quotes',
      `"EAN",MaximumPrice,"CostReduction",StartDate,EndDate\n"0000000000055","32.65",15.92,2018-05-03,"2018-05-04"\n`,
    ],
    [
      'spaces',
      ` EAN , MaximumPrice,CostReduction,StartDate,EndDate\n0000000000055 , 32.65,15.92, 2018-05-03,2018-05-04\n`,
    ],
    [
      'another order of columns',
      `EndDate,EAN,StartDate,CostReduction,MaximumPrice\n2018-05-04,0000000000055,2018-05-03,15.92,32.65\n`,
    ],
  ];
  test.each(SAME)('says the same with %s', async (_, file) => {
    const { lines, drift } = await made(file);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject(told);
    expect(drift).toEqual([]);
  });

  test('says the same whatever pieces it comes in', async () => {
    const file = `${HEADER}\r\n${LINE}\r\n8712345678906,1,2,2026-01-01,2026-01-0é\r\n`;
    const whole = await made(file, FORMAT, 10_000);
    for (const size of [1, 2, 3, 50]) expect(await made(file, FORMAT, size)).toEqual(whole);
  });

  test('with another delimiter and other names is read when the settings say so', async () => {
    const columns = { ean: 'Artikel', maximumPrice: 'Max', costReduction: 'Korting', startDate: 'Van', endDate: 'Tot' };
    const { lines } = await made(`Artikel;Max;Korting;Van;Tot\n${LINE.replaceAll(',', ';')}\n`, {
      delimiter: ';',
      columns,
    });
    expect(lines[0]).toMatchObject(told);
  });

  test('with an unknown column keeps it aside and tells of it', async () => {
    const { lines, drift } = await made(`${HEADER},Country\n${LINE},NL\n`);
    expect(lines[0]).toMatchObject({ ...told, _x: '{"Country":"NL"}' });
    expect(drift).toEqual([{ kind: 'unknown_field', field: 'Country', count: 1, example: '' }]);
  });

  const COPIED: readonly (readonly [string, number, string])[] = [
    ['as it usually is', 1, LINE],
    ['with an empty cell', 1, '0000000000055,,15.92,2018-05-03,'],
    ['with a number that is none', 1, "0000000000055,#,'x,2018-05-03,2018-05-04"],
    ['with quotes', 0, `"0000000000055",32.65,15.92,2018-05-03,2018-05-04`],
    ['with a blank', 0, LINE.replace(',', ', ')],
    ['with a backslash', 0, LINE.replace(',', '\\,')],
    ['with a carriage return inside', 0, LINE.replace(',', '\r,')],
    ['with a letter beyond ASCII', 0, LINE.replace('55', 'é')],
    ['with a field too few', 0, '0000000000055,32.65,15.92,2018-05-03'],
    ['longer than a raw text', 0, LINE.replace(',', `${'5'.repeat(70_000)},`)],
  ];
  test.each(COPIED)('%s: %i lines of it are only copied', async (_, plain, line) => {
    const { lines, ...found } = await made(`${HEADER}\n${line}\n${LINE}\n`, FORMAT, 1000);
    expect(found.plain).toBe(plain + 1);
    expect(lines.map(({ _i, _raw }) => [_i, _raw])).toEqual([
      ['0', line.slice(0, 65_536)],
      ['1', LINE],
    ]);
  });

  test('numbers its lines beyond nine, ninety-nine and so on', async () => {
    const { lines } = await made(`${HEADER}\n${`${LINE}\n${LINE} \n\n`.repeat(600)}`, FORMAT, 1000);
    expect(lines.map(({ _i }) => _i)).toEqual(Array.from({ length: 1200 }, (_, i) => String(i)));
  });

  test('says whether a number may have an exponent', async () => {
    expect((await made(`${HEADER}\n${LINE}\n`)).hasExponents).toBe(false);
    expect((await made(`${HEADER}\n${LINE.replace('32.65', '3E1')}\n`)).hasExponents).toBe(true);
    expect((await made(`${HEADER}\n${LINE.replace('32.65', '"3E1"')}\n`)).hasExponents).toBe(true);
  });

  test('with only a header has no lines', async () => {
    expect((await made(`${HEADER}\n`)).lines).toEqual([]);
  });

  test('hands a line with too few or too many fields on as one to be set aside', async () => {
    const { lines } = await made(`${HEADER}\n1,2,3\n${LINE},6\n${LINE}\n`);
    expect(lines.map((line) => line._b)).toEqual([
      'wrong_fields:3 fields where the header has 5',
      'wrong_fields:6 fields where the header has 5',
      undefined,
    ]);
    expect(lines[0]).toMatchObject({ _raw: '1,2,3' });
  });

  test('leaves an empty field out, and takes NUL and bytes that are no UTF-8 away', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${HEADER}\n0000000000055,,1\u00005.92,2018-05-03,`),
      Buffer.from([0xff, 0x0a]),
    ]);
    const { lines, drift } = await made(bytes);
    expect(lines[0]).not.toHaveProperty('maximumPrice');
    expect(lines[0]).toMatchObject({ costReduction: '15.92', endDate: '\ufffd' });
    expect(drift).toMatchObject([{ kind: 'no_utf8', count: 1 }]);
  });
});

describe('a file that is none', () => {
  const REFUSED: readonly (readonly [string, string, string, RegExp])[] = [
    ['another delimiter', `${HEADER.replaceAll(',', ';')}\n`, 'unknown_header', /no column EAN.*delimiter ","/],
    ['a column less', 'EAN,MaximumPrice,StartDate,EndDate\n', 'unknown_header', /no column CostReduction/],
    ['a column twice', `${HEADER},EAN\n`, 'unknown_header', /two columns EAN/],
    ['no header', `${LINE}\n`, 'unknown_header', /0000000000055,32.65/],
    ['a page of HTML', '<html><body>Sorry</body></html>', 'unknown_header', /<html>/],
    ['nothing in it', '', 'empty_file', /empty/],
    ['a line without end', `${HEADER}\n${'x'.repeat(5_000_000)}`, 'line_too_long', /more than 4194304/],
  ];
  test.each(REFUSED)('is refused: %s', async (_, file, code, message) => {
    const error = await made(file, FORMAT, 100_000).catch((thrown) => thrown);
    expect(error).toMatchObject({ kind: 'failed', code, message: expect.stringMatching(message) });
    expect(error.hint).toContain('loaded before stays');
  });
});
