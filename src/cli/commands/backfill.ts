import type { Command } from 'commander';
import { runBackfill } from '../../run/night.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { rangeOf } from '../range.ts';
import { type DayWord, dayWord } from '../values.ts';
import { withRun } from '../with-run.ts';

interface Options {
  readonly from: DayWord;
  readonly to: DayWord;
  readonly refetch?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('backfill')
    .description('load a past range; slices that are loaded already are skipped')
    .argument('<pipelines...>', 'pipelines to load')
    .requiredOption('--from <day>', 'first day: yyyy-mm-dd, today, yesterday or today-7', dayWord)
    .requiredOption('--to <day>', 'last day, written in the same way', dayWord)
    .option('--refetch', 'ask again also for slices that are loaded')
    .option('--json', 'print the result as one JSON document')
    .action(async (pipelines: string[], options: Options) => {
      const { refetch = false } = options;
      const outcome = await withRun(cli, (context) =>
        runBackfill(context, pipelines, rangeOf(options, context.today), refetch),
      );
      printOutcome(cli, outcome, options.json ?? false);
    });
  addExamples(command, [
    ['backfill orders commissions --from 2024-01-01 --to 2024-12-31', 'a year; interrupted, it goes on'],
  ]);
}
