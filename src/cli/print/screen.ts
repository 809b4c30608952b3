/**
 * The terminal's lower edge: lines that stay, and below them a block of live lines that is drawn over and over.
 * Everything that a command says on stderr goes through here, or it would land in the middle of the block.
 */
import stringWidth from 'string-width';
import { terminalText } from '../../core/redact.ts';

export interface Writer {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Columns of the terminal; where there is none, any width will do. */
  readonly columns: number;
  /** Waits until more can be written without piling up; false: nobody reads it any more. Absent: always true. */
  ready?(): Promise<boolean>;
}

/** What is written to a terminal cannot act on it; into a file or a pipe everything goes as it is. */
export function harmless(writer: Writer): Writer {
  return {
    write: (text) => writer.write(writer.isTTY ? terminalText(text) : text),
    get isTTY() {
      return writer.isTTY;
    },
    get columns() {
      return writer.columns;
    },
    ready: async () => (await writer.ready?.()) ?? true,
  };
}

export class Screen {
  private readonly writer: Writer;
  private drawn: readonly string[] = [];

  constructor(writer: Writer) {
    this.writer = writer;
  }

  get isTTY(): boolean {
    return this.writer.isTTY;
  }

  get columns(): number {
    return this.writer.columns;
  }

  /** Prints a text that stays, above the live lines. The text may hold line breaks. */
  print(text: string): void {
    this.writer.write(`${this.erasing()}${terminalText(text)}\n${block(this.drawn)}`);
  }

  /** Shows these lines in place of the live lines before. Only for terminals. */
  live(lines: readonly string[]): void {
    // A line that wraps would be two, and moving back up would miss by one.
    const fitting = lines.map((line) => cut(terminalText(line), this.writer.columns - 1));
    const erasing = this.erasing();
    this.drawn = fitting;
    this.writer.write(`${erasing}${block(fitting)}`);
  }

  /** Leaves the live lines where they are, as lines that stay. */
  settle(): void {
    this.drawn = [];
  }

  private erasing(): string {
    return this.drawn.length === 0 ? '' : `\u001b[${this.drawn.length}A\r\u001b[J`;
  }
}

function block(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

const PLAIN = /^[\x20-\x7e]*$/;
const letters = new Intl.Segmenter();

/** Columns that a text takes on a terminal: two for a letter of Chinese or Japanese and for most emoji, none for an accent of its own. */
export function widthOf(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** At most `width` columns; an ellipsis stands for what was cut off. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const { segment } of letters.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}
