/** What commands print on stdout: one JSON document, a table for people, or CSV. */
import { escapedJson } from '../../core/redact.ts';
import type { Writer } from './screen.ts';
import { type Cell, Table, type TableColumn } from './table.ts';

/** `1 call`, `2,000 calls`. */
export function counted(value: number, what: string): string {
  return `${value.toLocaleString('en-US')} ${what}${value === 1 ? '' : 's'}`;
}

/** One JSON document. 64-bit integers become text, with every digit. */
export function printJson(out: Writer, value: unknown): void {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part), 2);
  out.write(`${escapedJson(text)}\n`);
}

/** Aligned columns; on a terminal long texts are cut until a row fits on a line, and columns that do not fit are left out, which is said. */
export function printTable(out: Writer, columns: readonly TableColumn[], rows: readonly (readonly Cell[])[]): void {
  const table = new Table(out, columns, rows);
  table.heading();
  table.rows(rows);
  if (table.leftOut > 0) out.write(`${leftOutText(table.leftOut, columns.length)}\n`);
}

export function leftOutText(leftOut: number, of: number): string {
  return `… ${leftOut} of ${of} columns do not fit: a wider terminal shows them, or --json`;
}

/**
 * RFC 4180, with a heading; null is an empty field, an empty text is `""`. A text that a spreadsheet would take for a formula has a `'`
 * before it, and so has one that begins with `'` before such a sign: who takes one away has the text again.
 */
export function printCsv(out: Writer, titles: readonly string[], rows: readonly (readonly Cell[])[]): void {
  for (const row of [titles, ...rows]) out.write(csvLine(row));
}

/** What begins a formula, a sign with something behind it; the wide forms of the signs do so too where they are usual. */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]./s;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** As `printCsv` writes it. */
export function csvLine(row: readonly Cell[]): string {
  return `${row.map(csvField).join(',')}\r\n`;
}

function csvField(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const text = FORMULA.test(String(cell)) && !NUMBER.test(String(cell)) ? `'${cell}` : String(cell);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
