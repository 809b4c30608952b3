/**
 * The reductions file as text: as the service documents it, or in the other forms that a `file-format` asks for, and with
 * the lines that a `broken-line` puts into it.
 */
import type { BrokenLine, FileFault, FileFormat } from '../faults/file-faults.ts';
import { asBytes, PieceBuffer } from '../http/pieces.ts';

export const COLUMNS = ['EAN', 'MaximumPrice', 'CostReduction', 'StartDate', 'EndDate'] as const;
type Column = (typeof COLUMNS)[number];

/** A line of the file; amounts are decimal text, days yyyy-mm-dd. */
export interface ReductionLine {
  readonly ean: string;
  readonly maximumPrice: string;
  readonly costReduction: string;
  readonly startDate: string;
  readonly endDate: string;
}

const LINE_ENDS: Readonly<Record<NonNullable<FileFormat['lineEnd']>, string>> = { lf: '\n', crlf: '\r\n', cr: '\r' };
/** What stands in a column that the file does not have. */
const UNKNOWN_VALUE = 'new';
const BYTE_ORDER_MARK = '\uFEFF';

function cellsOf(line: ReductionLine): Record<Column, string> {
  const { ean, maximumPrice, costReduction, startDate, endDate } = line;
  return { EAN: ean, MaximumPrice: maximumPrice, CostReduction: costReduction, StartDate: startDate, EndDate: endDate };
}

interface Writer {
  readonly header: string | undefined;
  readonly lineOf: (cells: Readonly<Record<string, string>>) => string[];
  readonly textOf: (fields: readonly string[]) => string;
}

function writerOf({ delimiter = ',', quoted = false, columns = COLUMNS, header }: FileFormat): Writer {
  const quote = (field: string) => (quoted ? `"${field.replaceAll('"', '""')}"` : field);
  const textOf = (fields: readonly string[]) => fields.map(quote).join(delimiter);
  return {
    header: header === '' ? undefined : (header ?? textOf(columns)),
    lineOf: (cells) => columns.map((column) => cells[column] ?? UNKNOWN_VALUE),
    textOf,
  };
}

/** The line as the fault writes it, as one-byte text. */
function brokenText({ how, text }: BrokenLine, line: ReductionLine, { lineOf, textOf }: Writer): string {
  const cells = cellsOf(line);
  const fields = lineOf(cells);
  switch (how) {
    case 'few-fields':
      return textOf(fields.slice(0, -1));
    case 'many-fields':
      return textOf([...fields, 'more']);
    case 'bad-number':
      return textOf(lineOf({ ...cells, CostReduction: 'n/a' }));
    case 'bad-day':
      return textOf(lineOf({ ...cells, StartDate: '2026-02-30' }));
    case 'bad-ean':
      return textOf(lineOf({ ...cells, EAN: '123' }));
    case 'open-quote':
      return `"${textOf(fields)}`;
    case 'invalid-utf8':
      return textOf(lineOf({ ...cells, EAN: `${line.ean}\xff` }));
    case 'nul':
      return textOf(lineOf({ ...cells, EAN: `${line.ean}\0` }));
    case 'duplicate':
      return textOf(fields);
    case 'text':
      return asBytes(text ?? '');
  }
}

/** The documented form, written without looking at any column. */
function* plainPieces(lines: Iterable<ReductionLine>): Generator<Buffer> {
  const out = new PieceBuffer();
  out.write(`${COLUMNS.join(',')}\n`);
  for (const { ean, maximumPrice, costReduction, startDate, endDate } of lines) {
    if (out.full) yield out.take();
    out.write(`${ean},${maximumPrice},${costReduction},${startDate},${endDate}\n`);
  }
  yield out.take();
}

/** The texts of the lines, header first, without their ends. */
function* formedLines(lines: Iterable<ReductionLine>, writer: Writer, broken: readonly BrokenLine[]) {
  if (writer.header !== undefined) yield asBytes(writer.header);
  let position = 0;
  for (const line of lines) {
    let text: string | undefined = writer.textOf(writer.lineOf(cellsOf(line)));
    for (const fault of broken) {
      if ((fault.line ?? 0) !== position) continue;
      yield brokenText(fault, line, writer);
      if (fault.as === 'instead') text = undefined;
    }
    if (text !== undefined) yield asBytes(text);
    position++;
  }
}

function* formedPieces(
  lines: Iterable<ReductionLine>,
  format: FileFormat,
  broken: readonly BrokenLine[],
): Generator<Buffer> {
  const end = LINE_ENDS[format.lineEnd ?? 'lf'];
  const out = new PieceBuffer();
  if (format.byteOrderMark) out.write(asBytes(BYTE_ORDER_MARK));
  let isFirst = true;
  for (const text of formedLines(lines, writerOf(format), broken)) {
    if (out.full) yield out.take();
    out.write(isFirst ? text : `${end}${text}`);
    isFirst = false;
  }
  if (format.lastLineEnd !== false) out.write(end);
  yield out.take();
}

/** The bytes of the file under the faults that strike its call. */
export function filePieces(lines: Iterable<ReductionLine>, faults: readonly FileFault[]): Iterable<Buffer> {
  const content = faults.find((fault) => fault.kind === 'file-content')?.content;
  if (content === 'empty') return [];
  const broken = faults.filter((fault) => fault.kind === 'broken-line');
  const formats = faults.filter((fault) => fault.kind === 'file-format');
  const written = content === 'header-only' ? [] : lines;
  if (broken.length === 0 && formats.length === 0) return plainPieces(written);
  return formedPieces(written, Object.assign({}, ...formats), broken);
}
