/** replay and release: loading without calling the service. */
import type { Command } from 'commander';
import { runRelease, runReplay } from '../../run/again.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { rangeOf } from '../range.ts';
import { type DayWord, dayOn, dayWord } from '../values.ts';
import { withRun } from '../with-run.ts';

export function register(program: Command, cli: CliContext): void {
  registerReplay(program, cli);
  registerRelease(program, cli);
}

function registerReplay(program: Command, cli: CliContext): void {
  const command = program
    .command('replay')
    .description('normalise and load again from the raw store, without calling the service')
    .argument('<pipeline>', 'pipeline to replay')
    .requiredOption('--from <day>', 'first day: yyyy-mm-dd, today, yesterday or today-7', dayWord)
    .requiredOption('--to <day>', 'last day, written in the same way', dayWord)
    .option('--json', 'print the result as one JSON document')
    .action(async (pipeline: string, options: { from: DayWord; to: DayWord; json?: boolean }) => {
      const outcome = await withRun(cli, (context) => runReplay(context, pipeline, rangeOf(options, context.today)));
      printOutcome(cli, outcome, options.json ?? false);
    });
  addExamples(command, [['replay orders --from 2026-03-01 --to 2026-03-31', 'March again, from the stored answers']]);
}

function registerRelease(program: Command, cli: CliContext): void {
  const command = program
    .command('release')
    .description('apply a held slice')
    .argument('<pipeline>', 'pipeline of the slice')
    .argument('<day>', 'day of the slice: yyyy-mm-dd, today, yesterday or today-7', dayWord)
    .option('--json', 'print the result as one JSON document')
    .action(async (pipeline: string, day: DayWord, { json = false }: { json?: boolean }) => {
      printOutcome(
        cli,
        await withRun(cli, (context) => runRelease(context, pipeline, dayOn(context.today, day))),
        json,
      );
    });
  addExamples(command, [['release orders 2026-03-14', 'yes, that day really shrank']]);
}
