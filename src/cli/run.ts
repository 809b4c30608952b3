import type { Command } from 'commander';
import { runNight } from '../run/night.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { tellOutcome } from './outcome.ts';
import { withApp } from './with-app.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('run')
    .description('the nightly job: fetch what is due, load, check, publish')
    .argument('[pipelines...]', 'all enabled ones when none is named')
    .option('--json', 'print the result as one JSON document')
    .action(async (pipelines: string[], { json = false }: { json?: boolean }) => {
      tellOutcome(cli, await withApp(cli, (context) => runNight(context, pipelines)), json);
    });
  addExamples(command, [
    ['run', 'everything that is due'],
    ['run orders', 'only the orders'],
  ]);
}
