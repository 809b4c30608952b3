/**
 * The reductions file → lines for the typing, every value as text. The file is read as it streams; columns are found by their
 * names in the header, in any order. Lines without anything unusual are copied, the others become JSON.
 *
 * A file whose header is not known is refused whole, so that what was loaded before stays. A single line that does not fit is
 * handed on as a line that will be set aside.
 */
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord } from '../core/records.ts';
import { FileSink } from '../disk/sink.ts';
import { cellsOf } from './csv-cells.ts';
import { PlainLines } from './plain-lines.ts';

export interface ReductionFormat {
  /** One character. */
  readonly delimiter: string;
  /** What the header calls the columns; upper and lower case are the same. */
  readonly columns: ReductionColumns;
}

export interface ReductionColumns {
  readonly ean: string;
  readonly maximumPrice: string;
  readonly costReduction: string;
  readonly startDate: string;
  readonly endDate: string;
}

/** Where the lines are written to. */
export interface LineFiles {
  /** Plain lines: the line's number and then its cells as they stand, with the delimiter between them. */
  readonly plain: string;
  /** All others, as newline-delimited JSON. */
  readonly others: string;
}

export interface ReductionLines {
  readonly files: LineFiles;
  /** In both files. */
  readonly lines: number;
  /** Of those in JSON. */
  readonly longestLineBytes: number;
  /** Of a plain line, the fields in their order. */
  readonly cells: readonly (keyof ReductionColumns)[];
  readonly delimiter: string;
  /** Whether a number may have an exponent. */
  readonly hasExponents: boolean;
  readonly drift: readonly Pick<DriftRecord, 'kind' | 'field' | 'count' | 'example'>[];
}

const FIELDS = ['ean', 'maximumPrice', 'costReduction', 'startDate', 'endDate'] as const;
/** Of lines that are gathered before they are handed to the file. */
const CHARACTERS_A_WRITE = 256 * 1024;
const REPLACED = '\ufffd';
const BAD_QUOTES = 'bad_quotes:a quote is not closed, or text stands beside it';

/**
 * Writes the lines of a decoded file. The usual line is plain, and only copied: 400,000 lines took 1.2 s when each became JSON.
 * Errors: `failed/unknown_header`, `failed/empty_file`, `failed/line_too_long`, each with what was found.
 */
export async function reductionLines(
  body: AsyncIterable<Uint8Array>,
  format: ReductionFormat,
  files: LineFiles,
): Promise<ReductionLines> {
  const maker = new LineMaker(format);
  const plain = await FileSink.open(files.plain);
  const others = await FileSink.open(files.others);
  const write = async (isEnd: boolean) => {
    for (const bytes of maker.plain.flush(isEnd)) await plain.write(bytes);
    if (isEnd || maker.gathered.length >= CHARACTERS_A_WRITE) await others.write(maker.flush());
  };
  try {
    for await (const chunk of body) {
      maker.plain.write(chunk);
      await write(false);
    }
    await write(true);
  } finally {
    await plain.close();
    await others.close();
  }
  return { files, ...maker.result() };
}

/** Makes JSON of the lines that are not plain. */
class LineMaker {
  readonly plain: PlainLines;
  gathered = '';
  private readonly format: ReductionFormat;
  private header: Header | null = null;
  private count = 0;
  private longest = 0;
  private damaged = 0;
  private damagedExample = '';

  constructor(format: ReductionFormat) {
    this.format = format;
    this.plain = new PlainLines(format.delimiter, (text) => this.take(text));
  }

  flush(): Uint8Array {
    const bytes = Buffer.from(this.gathered);
    this.gathered = '';
    return bytes;
  }

  result(): Omit<ReductionLines, 'files'> {
    const { header, plain, count } = this;
    if (header === null)
      throw new EtlError('failed', 'empty_file', 'the reductions file is empty: it has not even a header', {
        hint: 'what was loaded before stays; the next run asks again',
      });
    const lines = this.lines();
    const drift = header.unknown.map((field) => ({ kind: 'unknown_field', field, count: lines, example: '' }));
    const torn = { kind: 'no_utf8', field: 'line', count: this.damaged, example: this.damagedExample };
    return {
      lines,
      longestLineBytes: this.longest,
      cells: FIELDS.toSorted((a, b) => header.places[FIELDS.indexOf(a)]! - header.places[FIELDS.indexOf(b)]!),
      delimiter: this.format.delimiter,
      hasExponents: plain.hasExponents || count > 0,
      drift: this.damaged > 0 ? [...drift, torn] : drift,
    };
  }

  /** Lines besides the header so far. */
  private lines(): number {
    return this.plain.count + this.count;
  }

  private take(text: string): boolean {
    if (this.header === null) {
      const line = text.replace(/^\ufeff/, '');
      if (line === '') return false;
      this.header = headerOf(line, this.format);
      // Fields that nobody knows are kept with their names, which takes JSON.
      if (this.header.unknown.length === 0) this.plain.width = this.header.width;
      return false;
    }
    if (text.includes(REPLACED)) {
      this.damaged += 1;
      this.damagedExample ||= text.slice(0, 100);
    }
    const line = this.lineOf(clean(text), this.header);
    this.count += 1;
    this.longest = Math.max(this.longest, line.length * 3);
    this.gathered += line;
    return true;
  }

  private lineOf(text: string, header: Header): string {
    const cells = cellsOf(text, this.format.delimiter);
    const start = `{"_i":"${this.lines()}","_raw":${json(text.slice(0, LIMITS.rejectRawBytes))}`;
    if (cells?.length !== header.width) {
      const wrong = cells ? `wrong_fields:${cells.length} fields where the header has ${header.width}` : BAD_QUOTES;
      return `${start},"_b":${JSON.stringify(wrong)}}\n`;
    }
    let line = start;
    for (const [i, field] of FIELDS.entries()) {
      const value = cells[header.places[i]!]!.trim();
      if (value !== '') line += `,"${field}":${json(value)}`;
    }
    if (header.unknown.length > 0) {
      const more = Object.fromEntries(
        header.unknownPlaces.map((place, i) => [header.unknown[i]!, clean(cells[place]!)]),
      );
      line += `,"_x":${JSON.stringify(JSON.stringify(more))}`;
    }
    return `${line}}\n`;
  }
}

interface Header {
  readonly width: number;
  /** Where each of FIELDS stands. */
  readonly places: readonly number[];
  readonly unknown: readonly string[];
  readonly unknownPlaces: readonly number[];
}

function headerOf(text: string, { delimiter, columns }: ReductionFormat): Header {
  const names = (cellsOf(text, delimiter) ?? []).map((cell) => cell.trim());
  const lower = names.map((name) => name.toLowerCase());
  const places = FIELDS.map((field) => lower.indexOf(columns[field].toLowerCase()));
  const missing = FIELDS.filter((_, i) => places[i] === -1).map((field) => columns[field]);
  const twice = FIELDS.filter((field) => lower.filter((name) => name === columns[field].toLowerCase()).length > 1);
  if (missing.length > 0 || twice.length > 0) {
    const what = missing.length > 0 ? `no column ${missing.join(', ')}` : `two columns ${columns[twice[0]!]}`;
    throw new EtlError(
      'failed',
      'unknown_header',
      `the header of the reductions file has ${what}: ${JSON.stringify(clean(text).slice(0, 200))}, read with the delimiter ${JSON.stringify(delimiter)}`,
      {
        hint: 'what was loaded before stays; when the service changed its file, fix pipelines.reductions.delimiter or .columns in the settings',
      },
    );
  }
  const unknownPlaces = names.flatMap((_, i) => (places.includes(i) ? [] : [i]));
  const unknown = apart(unknownPlaces.map((i) => clean(clean(names[i]!).slice(0, 100))));
  return { width: names.length, places, unknownPlaces, unknown };
}

/** The names with a number behind those that were there before, so that no column hides another. */
function apart(names: readonly string[]): string[] {
  const taken = new Set<string>();
  for (const name of names) {
    let one = name;
    for (let i = 2; taken.has(one); i++) one = `${name} (${i})`;
    taken.add(one);
  }
  return [...taken];
}

/** Any text as JSON; where it was cut, half a character may be left. */
function json(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

/** NUL has no place in Postgres, and a lone surrogate none in UTF-8. */
function clean(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}
