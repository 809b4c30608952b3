import type { Command } from 'commander';
import type { Day } from '../core/days.ts';
import { runBackfill } from '../run/night.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { tellOutcome } from './outcome.ts';
import { rangeOf } from './range.ts';
import { dayValue } from './values.ts';
import { withRun } from './with-run.ts';

interface Options {
  readonly from: Day;
  readonly to: Day;
  readonly refetch?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('backfill')
    .description('load a past range; slices that are loaded already are skipped')
    .argument('<pipelines...>', 'pipelines to load')
    .requiredOption('--from <day>', 'first day, yyyy-mm-dd', dayValue)
    .requiredOption('--to <day>', 'last day, yyyy-mm-dd', dayValue)
    .option('--refetch', 'ask again also for slices that are loaded')
    .option('--json', 'print the result as one JSON document')
    .action(async (pipelines: string[], options: Options) => {
      const range = rangeOf(options);
      const outcome = await withRun(cli, (context) => runBackfill(context, pipelines, range, options.refetch ?? false));
      tellOutcome(cli, outcome, options.json ?? false);
    });
  addExamples(command, [
    ['backfill orders commissions --from 2024-01-01 --to 2024-12-31', 'a year; interrupted, it goes on'],
  ]);
}
