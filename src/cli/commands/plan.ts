import type { Command } from 'commander';
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { estimatePlans, type PipelineEstimate, type PlanEstimate } from '../../run/estimate.ts';
import { backfillable, chosenPipelines } from '../../run/night.ts';
import { nightPlans } from '../../run/plans.ts';
import { windowsToBackfill } from '../../run/window/planned-windows.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { counted, printJson, printTable } from '../print/output.ts';
import { rangeOf } from '../range.ts';
import { type DayWord, dayWord } from '../values.ts';
import { withApp } from '../with-app.ts';

interface Options {
  readonly from?: DayWord;
  readonly to?: DayWord;
  readonly refetch?: boolean;
  readonly json?: boolean;
}

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('plan')
    .description('print what run, or backfill with --from and --to, would do; calls nothing, writes nothing')
    .argument('[pipelines...]', 'all enabled ones when none is named')
    .option('--from <day>', 'first day of a backfill: yyyy-mm-dd, today, yesterday or today-7', dayWord)
    .option('--to <day>', 'last day of a backfill', dayWord)
    .option('--refetch', 'as of backfill')
    .option('--json', 'print one JSON document')
    .action(async (names: string[], options: Options) => {
      const plan = await withApp(await orDemo(cli), async (context) => {
        const pipelines = chosenPipelines(context, names);
        const range = rangeIn(options, context.today);
        const { refetch = false } = options;
        const plans = range
          ? await Promise.all(
              backfillable(pipelines, names, range).map((p) => windowsToBackfill(context, p, range, refetch)),
            )
          : await nightPlans(context, pipelines);
        return estimatePlans(context, plans);
      });
      if (options.json) printJson(cli.stdout, plan);
      else printPlan(cli, plan);
    });
  addExamples(command, [
    ['plan', 'what the next run would do'],
    ['plan orders --from 2024-01-01 --to 2024-12-31', 'what that backfill would do, and how long'],
  ]);
}

function rangeIn({ from, to }: Options, today: Day) {
  if (from === undefined && to === undefined) return null;
  if (from !== undefined && to !== undefined) return rangeOf({ from, to }, today);
  throw new EtlError('usage', 'bad_range', '--from and --to go together', { hint: 'give both days' });
}

function printPlan(cli: CliContext, plan: PlanEstimate): void {
  const rows = plan.pipelines.flatMap((p) =>
    (p.windows ?? []).map((w) => [p.pipeline, w.from, w.to, w.days, reasonsText(w.reasons)]),
  );
  if (rows.length > 0)
    printTable(
      cli.stdout,
      [{ title: 'pipeline' }, { title: 'from' }, { title: 'to' }, { title: 'days', align: 'right' }, { title: 'why' }],
      rows,
    );
  for (const pipeline of plan.pipelines) for (const line of linesOf(pipeline)) cli.stdout.write(`${line}\n`);
  if (plan.calls === 0) cli.stdout.write('Nothing is due.\n');
  for (const { target, slices } of plan.fromLake)
    if (slices > 0) cli.stdout.write(`${target}: ${counted(slices, 'slice')} to load from the lake, without a call\n`);
  const size = plan.bytes === null ? 'size not known yet' : `about ${(plan.bytes / 1e6).toFixed(1)} MB`;
  cli.stdout.write(
    `${counted(plan.calls, 'call')}, ${counted(plan.slices, 'slice')}, ${size}, at least ${plan.minutes.toFixed(1)} min under the budgets\n`,
  );
}

function reasonsText(reasons: Readonly<Record<string, number>>): string {
  return Object.entries(reasons)
    .map(([reason, n]) => `${n.toLocaleString('en-US')} ${reason}`)
    .join(', ');
}

/** What a pipeline that is no report would do, in words. */
function linesOf({ pipeline, calls, lookups, file, following, list, inbox }: PipelineEstimate): string[] {
  const n = (value: number) => value.toLocaleString('en-US');
  if (inbox) {
    const waits = `${counted(inbox.messages, 'message')} of the inbox (${(inbox.bytes / 1e6).toFixed(1)} MB)`;
    return [`${pipeline}: takes in ${inbox.messages === 0 ? 'nothing: the inbox is empty' : waits}`];
  }
  if (list) return [`${pipeline}: asks for the list; ${askedText(list.asked_at)}`];
  if (following) {
    const why = reasonsText(following.due);
    const line = `${pipeline}: ${why === '' ? 'nothing is due' : `${counted(calls, 'call')} for ${why}`}`;
    return [line, ...leftOutLines(pipeline, following.left_out)];
  }
  if (file) {
    const last = file.last_file === null ? 'none was loaded yet' : `the last one loaded is ${file.last_file}`;
    const asks = file.asks
      ? 'asks for the name of the newest file, and for the file when it is another one'
      : 'asks nothing';
    const since = file.asks || file.asked_at === null ? '' : `: the name was asked at ${file.asked_at}`;
    return [`${pipeline}: ${asks}${since}; ${last}`];
  }
  if (!lookups) return [];
  const { listed, due, left_out: leftOut, rejects, notes } = lookups;
  const why = reasonsText(due);
  const lines = [
    `${pipeline}: ${why === '' ? 'nothing is due' : `${counted(calls, 'call')} for ${why}`} of ${n(listed)} listed`,
  ];
  lines.push(...leftOutLines(pipeline, leftOut));
  if (rejects > 0) lines.push(`${pipeline}: ${n(rejects)} of the list cannot be asked; run sets them aside`);
  return [...lines, ...notes.map((note) => `${pipeline}: ${note}`)];
}

function leftOutLines(pipeline: string, leftOut: number): string[] {
  if (leftOut === 0) return [];
  return [`${pipeline}: ${leftOut.toLocaleString('en-US')} are left out by the budget of the night (callsPerNight)`];
}

function askedText(askedAt: string | null): string {
  return askedAt === null ? 'it was not asked for yet' : `it was asked for last at ${askedAt}`;
}
