import { describe, expect, test } from 'vitest';
import { type Format, printAnswer } from '../../../src/cli/query/print.ts';
import type { AnswerColumn, AnswerRow } from '../../../src/warehouse/target.ts';
import { TextWriter } from '../surroundings.ts';

const COLUMNS: readonly AnswerColumn[] = [
  { name: 'n', kind: 'whole' },
  { name: 'amount', kind: 'decimal' },
  { name: 'share', kind: 'float' },
  { name: 'yes', kind: 'boolean' },
  { name: 'text', kind: 'other' },
];
const signal = new AbortController().signal;

async function* inBatches(...batches: (readonly AnswerRow[])[]) {
  yield* batches;
}

async function printed(
  format: Format,
  columns: readonly AnswerColumn[],
  batches: (readonly AnswerRow[])[],
  about?: Readonly<Record<string, unknown>>,
) {
  const out = new TextWriter();
  await printAnswer({ out, format, signal, ...(about ? { about } : {}) }, columns, inBatches(...batches));
  return out.text;
}

describe('JSON', () => {
  const ROW: AnswerRow = ['7', '12.500000', '0.25', true, 'a'];

  test('counts are numbers where a number holds them exactly, money is text', async () => {
    const big: AnswerRow = ['9007199254740993', null, 'NaN', null, null];
    expect(JSON.parse(await printed('json', COLUMNS, [[ROW], [big]]))).toEqual([
      { n: 7, amount: '12.500000', share: 0.25, yes: true, text: 'a' },
      { n: '9007199254740993', amount: null, share: 'NaN', yes: null, text: null },
    ]);
  });

  test('a decimal without a point is a count, such as a sum of counts in Postgres', async () => {
    const rows = [['31651'], ['-2'], ['12.000000'], ['9007199254740993'], ['NaN']];
    const said = JSON.parse(await printed('json', [{ name: 'sum', kind: 'decimal' }], [rows]));
    expect(said.map(({ sum }: { sum: unknown }) => sum)).toEqual([31651, -2, '12.000000', '9007199254740993', 'NaN']);
  });

  test('is written as a document of all rows would be, whatever the batches', async () => {
    const columns = COLUMNS.slice(4);
    const rows = [['a'], ['b'], ['c']];
    const whole = `${JSON.stringify([{ text: 'a' }, { text: 'b' }, { text: 'c' }], null, 2)}\n`;
    expect(await printed('json', columns, [rows])).toBe(whole);
    expect(await printed('json', columns, [rows.slice(0, 1), rows.slice(1)])).toBe(whole);
    expect(await printed('json', columns, [])).toBe('[]\n');
    const about = { number: 1, reading: ['x'] };
    const document = JSON.stringify({ ...about, rows: [{ text: 'a' }] }, null, 2);
    expect(await printed('json', columns, [[['a']]], about)).toBe(`${document}\n`);
    expect(JSON.parse(await printed('json', columns, [], about))).toEqual({ ...about, rows: [] });
  });

  test('two columns of one name are two members', async () => {
    const twice: AnswerColumn[] = [
      { name: 'a', kind: 'other' },
      { name: 'a', kind: 'other' },
    ];
    expect(JSON.parse(await printed('json', twice, [[['x', 'y']]]))).toEqual([{ a: 'x', a_1: 'y' }]);
  });
});

test('CSV and a redirected table have every row, and none is cut', async () => {
  const rows = Array.from({ length: 2500 }, (_, i): AnswerRow => [String(i), 'x'.repeat(i === 2400 ? 300 : 3)]);
  const columns: AnswerColumn[] = [
    { name: 'n', kind: 'whole' },
    { name: 'text', kind: 'other' },
  ];
  const batches = [rows.slice(0, 900), rows.slice(900, 2000), rows.slice(2000)];
  expect((await printed('csv', columns, batches)).split('\r\n')).toHaveLength(2502);
  const table = (await printed('table', columns, batches)).split('\n');
  expect(table).toHaveLength(2503);
  expect(table.slice(0, 3)).toEqual(['   n  text', '────  ────', '   0  xxx']);
  expect(table[2402]).toBe(`2400  ${'x'.repeat(300)}`);
});

describe('on a terminal', () => {
  const wide: AnswerColumn[] = Array.from({ length: 26 }, (_, i) => ({
    name: `column_${i}`,
    kind: i % 2 === 0 ? 'other' : 'decimal',
  }));
  const row = (text: string): AnswerRow => wide.map((_, i) => (i % 2 === 0 ? text : '123456.789000'));
  async function shownOn(columns: number, rows: readonly AnswerRow[]) {
    const out = new TextWriter({ isTTY: true, columns });
    await printAnswer({ out, format: 'table', signal }, wide, inBatches(rows));
    return out.lines;
  }

  test('middle columns that do not fit are left out and counted, and no number is cut', async () => {
    const lines = await shownOn(80, [row('some text'), row('a text that is much longer than that')]);
    expect(lines[0]).toMatch(/^column_0 .* … .*column_25$/);
    expect(lines.at(-1)).toMatch(/^… \d+ of 26 columns do not fit: a wider terminal shows them, or --json$/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    for (const line of lines.slice(2, 4)) expect(line.match(/ 123456\.789000(?= |$)/g)?.length).toBeGreaterThan(1);
  });

  test('one row is said from top to bottom', async () => {
    const lines = await shownOn(80, [row('x')]);
    expect(lines).toHaveLength(26);
    expect(lines.slice(0, 2)).toEqual(['column_0   x', 'column_1   123456.789000']);
  });
});

test('who reads no further stops the answer, and so does an interruption', async () => {
  let asked = 0;
  async function* endless() {
    for (;;) {
      asked += 1;
      yield [['x']];
    }
  }
  const out = Object.assign(new TextWriter(), { ready: async () => asked < 3 });
  const columns = COLUMNS.slice(4);
  await printAnswer({ out, format: 'csv', signal }, columns, endless());
  expect([asked, out.text]).toEqual([3, 'text\r\nx\r\nx\r\n']);
  const stopped = AbortSignal.abort(new Error('stopped'));
  const printing = { out: new TextWriter(), format: 'csv', signal: stopped } as const;
  await expect(printAnswer(printing, columns, endless())).rejects.toThrow('stopped');
});
