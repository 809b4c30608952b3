import type { Command } from 'commander';
import type { RunContext } from '../../run/context.ts';
import { chosenPipelines, isAnythingDue, runNight } from '../../run/night.ts';
import type { CliContext } from '../context.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { printJson } from '../print/output.ts';
import { withRun } from '../with-run.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('run')
    .description('the nightly job: fetch what is due, load, check, publish')
    .argument('[pipelines...]', 'all enabled ones when none is named')
    .option('--if-due', 'do nothing, and record no run, when nothing is due')
    .option('--json', 'print the result as one JSON document')
    .action(async (pipelines: string[], { json = false, ifDue = false }: { json?: boolean; ifDue?: boolean }) => {
      const work = async (context: RunContext) =>
        !ifDue || (await isAnythingDue(context, pipelines)) ? runNight(context, pipelines) : null;
      const named = (context: RunContext) => chosenPipelines(context, pipelines).map(({ name }) => name);
      const outcome = await withRun(cli, work, { pipelines: named });
      if (outcome) printOutcome(cli, outcome, json);
      else if (json) printJson(cli.stdout, { nothing_due: true });
      else if (!cli.verbosity.quiet) cli.stdout.write('nothing is due\n');
    });
  addExamples(command, [
    ['run', 'everything that is due'],
    ['run orders', 'only the orders'],
    ['run push-messages --if-due', 'what was pushed, when something was'],
  ]);
}
