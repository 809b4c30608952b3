import type { Command } from 'commander';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { retryRejects } from '../../run/again.ts';
import { listRejects } from '../../run/status/explain.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { printOutcome } from '../print/outcome.ts';
import { printJson, printTable } from '../print/output.ts';
import { wholeNumber } from '../values.ts';
import { withApp } from '../with-app.ts';
import { withRun } from '../with-run.ts';

interface Options {
  readonly retry?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('rejects')
    .description('show rows that could not be loaded, or try them again from the raw store')
    .argument('[pipeline]', 'all when none is named')
    .option('--retry', 'normalise the slices that have rejects again')
    .option('--limit <rows>', 'rows to show at the most', wholeNumber(1, 1_000_000), 50)
    .option('--json', 'print one JSON document')
    .action(async (pipeline: string | undefined, { retry = false, limit, json = false }: Options) => {
      if (retry) {
        if (pipeline === undefined)
          throw new EtlError('usage', 'no_pipeline', '--retry needs the name of a pipeline', {
            hint: 'partner-etl rejects orders --retry',
          });
        return printOutcome(cli, await withRun(cli, (context) => retryRejects(context, pipeline)), json);
      }
      const rejects = await withApp(await orDemo(cli), (context) => listRejects(context, pipeline, limit));
      if (json) return printJson(cli.stdout, rejects);
      if (rejects.length === 0) return void cli.stdout.write('No rejects.\n');
      printTable(
        cli.stdout,
        [
          { title: 'pipeline' },
          { title: 'day' },
          { title: 'item', align: 'right' },
          { title: 'reason' },
          { title: 'detail' },
          { title: 'raw' },
        ],
        rejects.map((r) => [r.pipeline, r.slice_day as Day, r.item, r.reason, r.detail, r.raw]),
      );
      return undefined;
    });
  addExamples(command, [
    ['rejects orders', 'the rejected order items, newest days first'],
    ['rejects orders --retry', 'try them again, for instance after an update'],
  ]);
}
