/** What `sql` and `ask` have in common: of which warehouse, in which form and how many rows. */
import { type Command, Option } from 'commander';
import { EtlError } from '../../core/errors.ts';
import type { Target } from '../../warehouse/target.ts';
import type { CliContext } from '../context.ts';
import { wholeNumber } from '../values.ts';
import { type Format, printAnswer } from './print.ts';

export interface AnswerOptions {
  readonly target?: string;
  readonly format: Format;
  readonly json?: boolean;
  readonly limit?: number;
}

/** Rows on a terminal where nobody said how many. */
const ROWS_ON_TERMINAL = 1000;

export function addAnswerOptions(command: Command): Command {
  const about = "how to print; csv puts a ' before a text that a spreadsheet would take for a formula";
  return command
    .option('--target <name>', 'duckdb, postgres or ducklake; the first that is switched on when absent')
    .addOption(new Option('--format <form>', about).choices(['table', 'csv', 'json']).default('table'))
    .option('--json', 'the same as --format json')
    .option(
      '--limit <rows>',
      `rows to print at the most; ${ROWS_ON_TERMINAL} on a terminal when absent, else all`,
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    );
}

/** `about`: as of `Printing`. */
export async function answer(
  cli: CliContext,
  target: Target,
  sql: string,
  { format, json, limit }: AnswerOptions,
  about?: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { stdout: out, signal } = cli;
  const most = limit ?? (out.isTTY ? ROWS_ON_TERMINAL : null);
  const printing = {
    out,
    signal,
    format: json ? ('json' as const) : format,
    ...(about === undefined ? {} : { about }),
  };
  const isCut = await target.stream(sql, most, (columns, batches) => printAnswer(printing, columns, batches));
  if (isCut) cli.say(`only the first ${most} rows are shown; --limit shows more`);
}

/** Errors: `usage/no_target`. */
export function chosenTarget(targets: readonly Target[], name: string | undefined): Target {
  const found = name === undefined ? targets[0] : targets.find((t) => t.name === name);
  if (found) return found;
  const problem = name === undefined ? 'no target is switched on' : `no target "${name}" is switched on`;
  throw new EtlError('usage', 'no_target', problem, {
    hint: `switched on: ${targets.map((t) => t.name).join(', ') || 'none'}`,
  });
}
