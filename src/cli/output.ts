/** What commands print on stdout: one JSON document, a table for people, or CSV. */
import { escapedJson } from '../core/redact.ts';
import { cut, type Writer } from './screen.ts';

export type Cell = string | number | bigint | boolean | null | undefined;

export interface TableColumn {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly align?: 'left' | 'right';
}

/** `1 call`, `2,000 calls`. */
export function counted(value: number, what: string): string {
  return `${value.toLocaleString('en-US')} ${what}${value === 1 ? '' : 's'}`;
}

/** One JSON document. 64-bit integers become text, with every digit. */
export function printJson(out: Writer, value: unknown): void {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part), 2);
  out.write(`${escapedJson(text)}\n`);
}

/** Aligned columns; on a terminal the widest ones are cut until a row fits on a line. */
export function printTable(out: Writer, columns: readonly TableColumn[], rows: readonly (readonly Cell[])[]): void {
  const texts = rows.map((row) => columns.map((_, i) => shown(row[i])));
  const titles = columns.map(({ title }) => shown(title));
  const natural = titles.map((title, i) => Math.max(lengthOf(title), ...texts.map((row) => lengthOf(row[i]!))));
  const widths = out.isTTY ? fitted(natural, out.columns - GAP.length * (columns.length - 1)) : natural;
  const line = (row: readonly string[]) =>
    columns
      .map(({ align }, i) => pad(cut(row[i]!, widths[i]!), widths[i]!, align ?? 'left'))
      .join(GAP)
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  out.write(`${[line(titles), rule, ...texts.map(line)].join('\n')}\n`);
}

/**
 * RFC 4180, with a heading; null is an empty field, an empty text is `""`. A text that a spreadsheet would take for a formula has a `'`
 * before it, and so has one that begins with `'` before such a sign: whoever takes one away has the text again.
 */
export function printCsv(out: Writer, titles: readonly string[], rows: readonly (readonly Cell[])[]): void {
  for (const row of [titles, ...rows]) out.write(`${row.map(csvField).join(',')}\r\n`);
}

/** What begins a formula, a sign with something behind it; the wide forms of the signs do so too where they are usual. */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]./s;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i;

const GAP = '  ';
/** No column is cut below this, however narrow the terminal. */
const NARROWEST = 6;

/** Takes width from the widest columns until all of them fit, as far as that goes. */
function fitted(natural: readonly number[], available: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) break;
    widths[widths.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

/** Control characters would move the cursor; what the service sends must not. */
function shown(cell: Cell): string {
  return cell === null || cell === undefined ? '' : String(cell).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

function lengthOf(text: string): number {
  return [...text].length;
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const blank = ' '.repeat(Math.max(0, width - lengthOf(text)));
  return align === 'right' ? blank + text : text + blank;
}

function csvField(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const text = FORMULA.test(String(cell)) && !NUMBER.test(String(cell)) ? `'${cell}` : String(cell);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
