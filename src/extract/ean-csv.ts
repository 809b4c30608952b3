/**
 * The CSV of EANs: `ean[,price[,condition]]`, one a line.
 *
 * The delimiter is a tab, a semicolon or a comma, looked for in this order in the first line that has one of them. A header is
 * a first line with a field `ean`; then columns are found by name, in any order, and others are passed over. Empty lines and
 * those that begin with # are passed over. Where the delimiter is no comma, a price may have one as its decimal sign.
 */
import { createReadStream } from 'node:fs';
import { EtlError } from '../core/errors.ts';
import { cellsOf } from './csv-cells.ts';
import type { EanList, EanRow } from './ean-list.ts';

const READ_BYTES = 256 * 1024;
/** A line this long is no EAN; the rest of it is not kept. */
const LINE_CHARACTERS = 4096;
const COLUMNS = ['ean', 'price', 'condition'] as const;

/**
 * Reads the file into the list, as a stream (a million lines in some 4 s); `taken` is awaited after each part. Errors: `usage/ean_file` when it is not there, cannot be
 * read, or is no text.
 */
export async function readEanFile(file: string, list: EanList, taken: () => Promise<void>): Promise<void> {
  const reader = new Reader(list);
  try {
    for await (const lines of linesOf(file)) {
      for (const line of lines) reader.take(line);
      await taken();
    }
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    throw fileError(file, cause);
  }
}

class Reader {
  private readonly list: EanList;
  private line = 0;
  private delimiter: string | null = null;
  /** Place of each column; null before the first line with content. */
  private places: readonly number[] | null = null;
  private hasHeader = false;

  constructor(list: EanList) {
    this.list = list;
  }

  take(line: string): void {
    this.line++;
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text.trim() === '' || text.trimStart().startsWith('#')) return;
    const fault = this.takeContent(text);
    if (fault !== null) this.list.reject('file', this.line, 'bad_line', fault, text);
  }

  /** Returns what is wrong with the line as a line of CSV, or null. */
  private takeContent(text: string): string | null {
    if (text.length > LINE_CHARACTERS) return `is longer than ${LINE_CHARACTERS} characters`;
    this.delimiter ??= delimiterOf(text);
    const fields = cellsOf(text, this.delimiter ?? ',');
    if (fields === null) return 'a quote is not closed, or text stands beside it';
    if (this.places === null) {
      this.places = placesOf(fields);
      this.hasHeader = this.places !== POSITIONS;
      if (this.hasHeader) return null;
    }
    if (!this.hasHeader && fields.slice(COLUMNS.length).some((field) => field.trim() !== ''))
      return surplusDetail(fields, this.delimiter);
    this.list.take('file', this.line, this.rowOf(fields, this.places), () => text);
    return null;
  }

  private rowOf(fields: readonly string[], [ean, price, condition]: readonly number[]): EanRow {
    const amount = fields[price!] ?? '';
    return {
      ean: fields[ean!] ?? '',
      price: this.delimiter === ',' ? amount : amount.replace(',', '.'),
      condition: fields[condition!] ?? '',
    };
  }
}

const POSITIONS = [0, 1, 2] as const;

/** Where the columns stand by the header; POSITIONS when it is none. */
function placesOf(fields: readonly string[]): readonly number[] {
  const names = fields.map((field) => field.trim().toLowerCase());
  return names.includes('ean') ? COLUMNS.map((column) => names.indexOf(column)) : POSITIONS;
}

function delimiterOf(text: string): string | null {
  return ['\t', ';', ','].find((delimiter) => text.includes(delimiter)) ?? null;
}

function surplusDetail(fields: readonly string[], delimiter: string | null): string {
  const hint = delimiter === ',' ? '; a price with a decimal comma needs quotes or another delimiter' : '';
  return `has ${fields.length} fields, not at most ${COLUMNS.length}${hint}`;
}

/** Lines, many at a time; of one that is too long, more than the limit and not all. */
async function* linesOf(file: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder('utf-8');
  let isFirst = true;
  let rest = '';
  for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>) {
    if (isFirst) refuseUtf16(file, chunk);
    isFirst = false;
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    if (rest.length > 2 * LINE_CHARACTERS) rest = rest.slice(0, LINE_CHARACTERS + 1);
    yield lines;
  }
  yield [rest + decoder.decode()];
}

/** What spreadsheets call Unicode text; read as UTF-8 every line of it would be a reject. */
function refuseUtf16(file: string, chunk: Buffer): void {
  const mark = chunk.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff' || chunk.includes(0))
    throw new EtlError('usage', 'ean_file', `the EAN list ${file} is no UTF-8 text`, {
      concern: { file },
      hint: 'save it as CSV in UTF-8',
    });
}

function fileError(file: string, cause: unknown): EtlError {
  const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
  const message = isMissing ? `the EAN list ${file} does not exist` : `the EAN list ${file} cannot be read`;
  return new EtlError('usage', 'ean_file', message, {
    cause,
    concern: { file },
    hint: 'put a CSV of ean[,price[,condition]] there, or set eans.file in the settings to where it lies (null: none)',
  });
}
