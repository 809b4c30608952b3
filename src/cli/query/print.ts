/** The answer of a warehouse as it is printed: row after row, so that its size does not matter. */
import { escapedJson } from '../../core/redact.ts';
import type { AnswerColumn, AnswerRow } from '../../warehouse/target.ts';
import { csvLine, leftOutText } from '../print/output.ts';
import { type Writer, widthOf } from '../print/screen.ts';
import { shown, Table } from '../print/table.ts';

export type Format = 'table' | 'csv' | 'json';

/** What a table is measured by: so many rows, or fewer where they have more characters than this. */
const MEASURED_ROWS = 1000;
const MEASURED_CHARACTERS = 4_000_000;
const NOTHING = '∅';

type Batches = AsyncIterable<readonly AnswerRow[]>;

export interface Printing {
  readonly out: Writer;
  readonly format: Format;
  /** Asked between batches; throws to stop. */
  readonly signal: AbortSignal;
  /** Members of the JSON document in front of `rows`; absent: the document is the rows alone. */
  readonly about?: Readonly<Record<string, unknown>>;
}

/** Stops as soon as nobody reads any more. Errors: those of the batches, and the signal's reason. */
export async function printAnswer(
  printing: Printing,
  columns: readonly AnswerColumn[],
  batches: Batches,
): Promise<void> {
  const { out, format } = printing;
  const read = whileRead(printing, batches);
  if (format === 'csv') {
    out.write(csvLine(columns.map(({ name }) => name)));
    for await (const rows of read) out.write(rows.map(csvLine).join(''));
  } else if (format === 'json') await printJsonRows(printing, columns, read);
  else await printRows(out, columns, read);
}

async function* whileRead({ out, signal }: Printing, batches: Batches): AsyncGenerator<readonly AnswerRow[]> {
  for await (const rows of batches) {
    signal.throwIfAborted();
    if ((await out.ready?.()) === false) return;
    yield rows;
  }
}

/** The document that `printJson` would print of all rows at once. */
async function printJsonRows({ out, about }: Printing, columns: readonly AnswerColumn[], batches: Batches) {
  const names = distinct(columns.map(({ name }) => name));
  const margin = about === undefined ? '' : '  ';
  if (about !== undefined) {
    const text = JSON.stringify(about, null, 2);
    out.write(`${escapedJson(text.slice(0, -'\n}'.length))},\n  "rows": `);
  }
  let count = 0;
  for await (const rows of batches) {
    const texts = rows.map((row) => {
      count += 1;
      const members = Object.fromEntries(columns.map(({ kind }, i) => [names[i]!, jsonValue(row[i] ?? null, kind)]));
      const text = JSON.stringify(members, null, 2).replaceAll('\n', `\n${margin}  `);
      return `${count === 1 ? '[' : ','}\n${margin}  ${text}`;
    });
    out.write(escapedJson(texts.join('')));
  }
  out.write(`${count === 0 ? '[]' : `\n${margin}]`}${about === undefined ? '' : '\n}'}\n`);
}

/**
 * Counts are numbers where a number holds them exactly; money stays a text, which keeps every digit. Postgres calls the sum of counts
 * a decimal: it has no point, and money always has one.
 */
function jsonValue(value: AnswerRow[number], kind: AnswerColumn['kind']): AnswerRow[number] | number {
  if (typeof value !== 'string' || kind === 'other' || (kind === 'decimal' && !/^-?\d+$/.test(value))) return value;
  const number = Number(value);
  const isExact = kind === 'float' ? Number.isFinite(number) : Number.isSafeInteger(number);
  return isExact ? number : value;
}

/** Postgres allows two columns of one name, an object does not. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let n = 1; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}

async function printRows(out: Writer, columns: readonly AnswerColumn[], batches: Batches): Promise<void> {
  const titles = columns.map(({ name, kind }) => {
    const isNumber = kind === 'whole' || kind === 'decimal' || kind === 'float';
    return isNumber ? { title: name, align: 'right' as const } : { title: name };
  });
  let first: AnswerRow[] = [];
  let characters = 0;
  let table: Table | null = null;
  const begin = () => {
    const begun = new Table(out, titles, first.map(cells));
    // One row whose columns do not fit reads better from top to bottom.
    if (begun.leftOut > 0 && first.length === 1) return printDown(out, columns, first[0]!);
    table = begun;
    begun.heading();
    begun.rows(first.map(cells));
    first = [];
    return undefined;
  };
  for await (const rows of batches) {
    if (table === null) {
      first.push(...rows);
      characters += rows.flat().reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0), 0);
      if (first.length >= MEASURED_ROWS || characters >= MEASURED_CHARACTERS) begin();
    } else (table as Table).rows(rows.map(cells));
  }
  if (table === null) begin();
  const leftOut = (table as Table | null)?.leftOut ?? 0;
  if (leftOut > 0) out.write(`${leftOutText(leftOut, columns.length)}\n`);
}

function printDown(out: Writer, columns: readonly AnswerColumn[], row: AnswerRow): void {
  const width = columns.reduce((most, { name }) => Math.max(most, widthOf(shown(name))), 0);
  const values = cells(row);
  out.write(
    columns
      .map(({ name }, i) => `${shown(name)}${' '.repeat(width - widthOf(shown(name)))}  ${shown(values[i])}\n`)
      .join(''),
  );
}

function cells(row: AnswerRow): AnswerRow {
  return row.map((cell) => cell ?? NOTHING);
}
