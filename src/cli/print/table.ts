/** A table for people, which may come in parts: the first rows decide how wide its columns are. */
import { cut, type Writer, widthOf } from './screen.ts';
import { GAP, type Layout, LEFT_OUT, layoutOf } from './table-layout.ts';

export type Cell = string | number | bigint | boolean | null | undefined;

export interface TableColumn {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly align?: 'left' | 'right';
}

export class Table {
  /** How many columns did not fit the terminal. */
  readonly leftOut: number;
  private readonly out: Writer;
  private readonly columns: readonly TableColumn[];
  private readonly layout: Layout;
  /** Of each column that is shown; outside a terminal later rows may make them wider. */
  private widths: readonly number[];

  /** `first`: the rows that are measured. */
  constructor(out: Writer, columns: readonly TableColumn[], first: readonly (readonly Cell[])[]) {
    this.out = out;
    this.columns = columns;
    const measured = columns.map(({ title, align }, i) => ({
      cells: first.reduce((most, row) => Math.max(most, widthOf(shown(row[i]))), 0),
      title: widthOf(shown(title)),
      isNumber: align === 'right',
    }));
    this.layout = layoutOf(measured, out.isTTY ? out.columns : Number.POSITIVE_INFINITY);
    this.widths = this.layout.widths;
    this.leftOut = columns.length - this.layout.shown.length;
  }

  heading(): void {
    const titles = this.columns.map(({ title }) => title);
    const rule = this.join(this.widths.map((width) => '─'.repeat(width)));
    this.out.write(`${this.line(titles)}\n${rule}\n`);
  }

  rows(rows: readonly (readonly Cell[])[]): void {
    if (!this.out.isTTY)
      this.widths = this.layout.shown.map((column, i) =>
        rows.reduce((most, row) => Math.max(most, widthOf(shown(row[column]))), this.widths[i]!),
      );
    this.out.write(rows.map((row) => `${this.line(row)}\n`).join(''));
  }

  private line(row: readonly Cell[]): string {
    const cells = this.layout.shown.map((column, i) => {
      const width = this.widths[i]!;
      return pad(cut(shown(row[column]), width), width, this.columns[column]!.align ?? 'left');
    });
    return this.join(cells).trimEnd();
  }

  private join(parts: readonly string[]): string {
    const { before } = this.layout;
    return (this.leftOut === 0 ? parts : [...parts.slice(0, before), LEFT_OUT, ...parts.slice(before)]).join(GAP);
  }
}

/** Control characters would move the cursor; what the service sends must not. */
export function shown(cell: Cell): string {
  return cell === null || cell === undefined ? '' : String(cell).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

function pad(text: string, width: number, align: 'left' | 'right'): string {
  const blank = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? blank + text : text + blank;
}
