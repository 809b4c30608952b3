/** What the service sent, in lines and tables for people: without secrets, short, and doing nothing to a terminal. */
import { foreignText } from '../../core/redact.ts';
import type { CliContext } from '../context.ts';
import type { Writer } from '../print/screen.ts';
import type { Cell } from '../print/table.ts';

const TEXT_CHARACTERS = 2000;

export function foreign(cli: CliContext, text: string | null): string {
  return text === null ? '' : foreignText(text, cli.secrets, TEXT_CHARACTERS);
}

export function foreignRow(cli: CliContext, cells: readonly Cell[]): Cell[] {
  return cells.map((cell) => (typeof cell === 'string' ? foreign(cli, cell) : cell));
}

/** An EAN, an amount or an address that was cut is another one, so a long row runs on in the next line of a terminal. */
export function uncut(out: Writer): Writer {
  return { write: (text) => out.write(text), isTTY: false, columns: Number.POSITIVE_INFINITY };
}
