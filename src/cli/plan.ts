import type { Command } from 'commander';
import type { Day } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { estimatePlans, type PlanEstimate } from '../run/estimate.ts';
import { chosenPipelines } from '../run/night.ts';
import { backfillPlans, nightPlans } from '../run/plans.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { printJson, printTable } from './output.ts';
import { rangeOf } from './range.ts';
import { dayValue } from './values.ts';
import { withApp } from './with-app.ts';

interface Options {
  readonly from?: Day;
  readonly to?: Day;
  readonly refetch?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('plan')
    .description('print what run, or backfill with --from and --to, would do; calls nothing, writes nothing')
    .argument('[pipelines...]', 'all enabled ones when none is named')
    .option('--from <day>', 'first day of a backfill, yyyy-mm-dd', dayValue)
    .option('--to <day>', 'last day of a backfill, yyyy-mm-dd', dayValue)
    .option('--refetch', 'as of backfill')
    .option('--json', 'print one JSON document')
    .action(async (names: string[], options: Options) => {
      const plan = await withApp(cli, async (context) => {
        const pipelines = chosenPipelines(context, names);
        const range = rangeIn(options);
        const plans = range
          ? await backfillPlans(context, pipelines, range, options.refetch ?? false)
          : await nightPlans(context, pipelines);
        return estimatePlans(context, await cli.config(), plans);
      });
      if (options.json) printJson(cli.stdout, plan);
      else tell(cli, plan);
    });
  addExamples(command, [
    ['plan', 'what the next run would do'],
    ['plan orders --from 2024-01-01 --to 2024-12-31', 'what that backfill would do, and how long'],
  ]);
}

function rangeIn({ from, to }: Options) {
  if (from === undefined && to === undefined) return null;
  if (from !== undefined && to !== undefined) return rangeOf({ from, to });
  throw new EtlError('usage', 'bad_range', '--from and --to go together', { hint: 'give both days' });
}

function tell(cli: CliContext, plan: PlanEstimate): void {
  const rows = plan.pipelines.flatMap((p) =>
    p.windows.map((w) => [
      p.pipeline,
      w.from,
      w.to,
      w.days,
      Object.entries(w.reasons)
        .map(([r, n]) => `${n} ${r}`)
        .join(', '),
    ]),
  );
  if (rows.length === 0) cli.stdout.write('Nothing is due.\n');
  else
    printTable(
      cli.stdout,
      [{ title: 'pipeline' }, { title: 'from' }, { title: 'to' }, { title: 'days', align: 'right' }, { title: 'why' }],
      rows,
    );
  for (const { target, slices } of plan.fromLake)
    if (slices > 0) cli.stdout.write(`${target}: ${slices} slices to load from the lake, without a call\n`);
  const size = plan.bytes === null ? 'size not known yet' : `about ${(plan.bytes / 1e6).toFixed(1)} MB`;
  cli.stdout.write(
    `${plan.calls} calls, ${plan.slices} slices, ${size}, at least ${plan.minutes.toFixed(1)} min under the budgets\n`,
  );
}
