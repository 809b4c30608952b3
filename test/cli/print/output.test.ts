import { describe, expect, test } from 'vitest';
import { printCsv, printJson, printTable } from '../../../src/cli/print/output.ts';
import type { Cell } from '../../../src/cli/print/table.ts';
import { TextWriter } from '../surroundings.ts';

function table(rows: readonly (readonly Cell[])[], terminal?: { isTTY: boolean; columns: number }): string[] {
  const out = new TextWriter(terminal);
  printTable(out, [{ title: 'name' }, { title: 'amount', align: 'right' }], rows);
  return out.lines;
}

describe('tables', () => {
  test('columns are aligned, numbers at the right', () => {
    const rows = [
      ['orders', '12.50'],
      ['commissions', '1234567.89'],
      [null, 7n],
    ];
    expect(table(rows)).toEqual([
      'name             amount',
      '───────────  ──────────',
      'orders            12.50',
      'commissions  1234567.89',
      '                      7',
    ]);
  });

  test('a letter that takes two columns counts as two, an accent of its own as none', () => {
    const rows = [
      ['日本語', '1'],
      ['cafe\u0301', '2'],
      ['👍🏽', '3'],
      ['ab', '4'],
    ];
    expect(table(rows).slice(2)).toEqual([
      '日本語       1',
      'cafe\u0301         2',
      '👍🏽           3',
      'ab           4',
    ]);
    expect(table([['日本語のとても長い題名', '5']], { isTTY: true, columns: 16 })[2]).toBe('日本語…        5');
  });

  test('without rows the heading stands alone', () => {
    expect(table([])).toEqual(['name  amount', '────  ──────']);
  });

  test('on a terminal the widest column is cut until a row fits; in a pipe nothing is', () => {
    const rows = [['x'.repeat(100), '5']];
    expect(table(rows, { isTTY: true, columns: 30 })[2]).toBe(`${'x'.repeat(21)}…       5`);
    expect(table(rows)[2]).toContain('x'.repeat(100));
  });

  test('a terminal too narrow for anything still gets a table', () => {
    expect(table([['x'.repeat(50), 'y'.repeat(50)]], { isTTY: true, columns: 5 })[2]).toBe('xxxxx…  yyyyy…');
  });

  test('what the service sent cannot move the cursor or break the row', () => {
    expect(table([['a\u001b[31mred\r\nb\u202ec', 'x']])[2]).toBe('a [31mred b c       x');
  });
});

test('a JSON document keeps every digit of a 64-bit integer', () => {
  const out = new TextWriter();
  printJson(out, { a: 9007199254740993n, b: [null, true] });
  expect(JSON.parse(out.text)).toEqual({ a: '9007199254740993', b: [null, true] });
  expect(out.text.endsWith('\n')).toBe(true);
});

test.each<[Cell, string]>([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  [' blank', '" blank"'],
  ['', '""'],
  [null, ''],
  [undefined, ''],
  [0, '0'],
  [false, 'false'],
  ['=1+1', "'=1+1"],
  ["'=1+1", "''=1+1"],
  ['@SUM(1,2)', `"'@SUM(1,2)"`],
  ['\t=1', "'\t=1"],
  ['-12.50', '-12.50'],
  ['-1e5', '-1e5'],
  ['-', '-'],
])('%j is the CSV field %s', (cell, field) => {
  const out = new TextWriter();
  printCsv(out, ['a', 'b'], [[cell, 'x']]);
  expect(out.text).toBe(`a,b\r\n${field},x\r\n`);
});
