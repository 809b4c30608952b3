/** What commands print of the warehouse: read again it is the same, and nothing in a CSV is a formula, nothing in a table moves the cursor. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { printCsv, printJson, printTable } from '../../../src/cli/print/output.ts';
import type { Cell } from '../../../src/cli/print/table.ts';
import { hostileText, numberLiteral } from './hostile.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

class Printed {
  readonly isTTY = false;
  readonly columns = 80;
  text = '';
  write(text: string): void {
    this.text += text;
  }
}

/** A reader of CSV, letter by letter: rows of fields, an empty field without quotes being null. */
function readCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [[]];
  let field: string | null = null;
  let at = 0;
  const end = () => {
    rows.at(-1)!.push(field);
    field = null;
  };
  while (at < text.length) {
    const letter = text[at++]!;
    if (letter === '"' && field === null) {
      field = '';
      for (; text[at] !== '"' || text[++at] === '"'; at++) {
        assert.ok(at < text.length, 'a quote is not closed');
        field += text[at];
      }
      assert.ok(at === text.length || ',\r'.includes(text[at]!), 'something stands behind a quote');
    } else if (letter === ',') end();
    else if (letter === '\r' && text[at] === '\n') {
      end();
      at++;
      rows.push([]);
    } else {
      assert.ok(!'"\r\n'.includes(letter), 'a quote or a line end stands in a field without quotes');
      field = (field ?? '') + letter;
    }
  }
  assert.deepEqual(rows.pop(), []);
  return rows;
}

/** What a spreadsheet runs when it opens the file. */
const isFormula = (text: string) =>
  '=+-@\t\r\n＝＋－＠'.includes(text[0] ?? 'x') && text.length > 1 && !/^-?[0-9.]+(e[-+]?[0-9]+)?$/i.test(text);

/** The text without the mark that was put before it. */
function unmarked(text: string | null): string | null {
  return text?.startsWith("'") && isFormula(text.replace(/^'+/, '')) ? text.slice(1) : text;
}

function prove(input: Uint8Array): void {
  const [titles, rows] = tableIn(textOf(input));
  const csv = new Printed();
  printCsv(csv, titles, rows);
  const read = readCsv(csv.text);
  for (const field of read.flat()) assert.ok(field === null || !isFormula(field), JSON.stringify(field));
  assert.deepEqual(
    read.map((row) => row.map(unmarked)),
    [titles, ...rows].map((row) => row.map((cell) => cell ?? null)),
  );
  const json = new Printed();
  printJson(json, rows);
  assert.deepEqual(JSON.parse(json.text), rows);
  assert.doesNotMatch(json.text, /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
  const table = new Printed();
  printTable(
    table,
    titles.map((title) => ({ title })),
    rows,
  );
  assert.doesNotMatch(table.text, /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.equal(table.text.split('\n').length, rows.length + 3);
}

/** JSON of rows of texts and nulls; anything else stands for itself, in one cell. */
function tableIn(text: string | null): [titles: string[], rows: Cell[][]] {
  let rows: unknown = [[text]];
  try {
    const told: unknown = JSON.parse(text ?? '');
    const isRow = (row: unknown) =>
      Array.isArray(row) && row.every((cell) => cell === null || typeof cell === 'string');
    if (Array.isArray(told) && told.length > 0 && told.every(isRow)) rows = told;
  } catch {
    // stands for itself
  }
  const cells = rows as (string | null)[][];
  const width = Math.max(1, ...cells.map((row) => row.length));
  const filled = cells.map((row) => Array.from({ length: width }, (_, i) => row[i]?.toWellFormed() ?? null));
  return [filled[0]!.map((cell) => cell || 'title'), filled];
}

const cell = fc.oneof({ weight: 3, arbitrary: hostileText }, numberLiteral, fc.constant(null));

export const exports: Subject = {
  name: 'exports',
  extension: 'txt',
  inputs: fc
    .array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 })
    .map((rows) => utf8(JSON.stringify(rows))),
  prove,
  shortRuns: 400,
  large: { 'a text of 100 KB': () => utf8(JSON.stringify([[`=${'x'.repeat(100 * 1024)}`]])) },
};
