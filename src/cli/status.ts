import type { Command } from 'commander';
import { isNamed } from '../core/pipeline.ts';
import { type DayState, type LookupStatus, type PipelineStatus, type Status, statusOf } from '../run/status.ts';
import { type ScheduleStatus, scheduleStatus } from '../serve/schedule-status.ts';
import type { CliContext } from './context.ts';
import { addExamples } from './help.ts';
import { counted, printJson, printTable } from './output.ts';
import { schedulesOf } from './serve.ts';
import { withApp } from './with-app.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('status')
    .description('freshness of every pipeline, the grid of days, holds, rejects, drift, the last runs')
    .option('--json', 'print one JSON document')
    .action(async ({ json = false }: { json?: boolean }) => {
      const config = await cli.config();
      const [status, schedule] = await withApp(cli, async (context) => {
        const schedules = schedulesOf(config, context.pipelines.filter(isNamed));
        return [await statusOf(context), await scheduleStatus(context.paths, schedules, cli.clock.now())] as const;
      });
      if (json) printJson(cli.stdout, withSchedule(status, schedule));
      else tell(cli, status, schedule);
    });
  addExamples(command, [
    ['status', 'how things stand'],
    ['status --json', 'the same for a program'],
  ]);
}

const MARK: Readonly<Record<DayState, string>> = {
  missing: '·',
  failed: '!',
  held: 'h',
  open: 'o',
  settled: '█',
  quiet: ' ',
};
const EXAMPLE_SHOWN = 120;
/** Days of the grid that are shown, newest at the end. */
const GRID_DAYS = 92;

type Schedule = ReadonlyMap<string, ScheduleStatus>;

function withSchedule(status: Status, schedule: Schedule) {
  const pipelines = status.pipelines.map((p) => ({ ...p, schedule: schedule.get(p.pipeline) ?? null }));
  return { ...status, pipelines };
}

function tell(cli: CliContext, status: Status, schedule: Schedule): void {
  const right = 'right' as const;
  printTable(
    cli.stdout,
    [
      { title: 'pipeline' },
      { title: 'newest day' },
      { title: 'behind', align: right },
      { title: 'rows', align: right },
      ...(['settled', 'open', 'held', 'failed', 'missing'] as const).map((title) => ({ title, align: right })),
      { title: 'rejects', align: right },
    ],
    status.pipelines.map((p) => [
      p.enabled ? p.pipeline : `${p.pipeline} (off)`,
      p.newest ?? 'never loaded',
      p.days_behind === null ? '' : `${p.days_behind} d`,
      p.rows.toLocaleString('en-US'),
      p.counts.settled,
      p.counts.open,
      p.counts.held,
      p.counts.failed,
      p.counts.missing,
      p.rejects,
    ]),
  );
  cli.stdout.write(`\n${status.pipelines.map(gridOf).join('\n')}\n${LEGEND}\n`);
  for (const { pipeline, lookups } of status.pipelines)
    if (lookups?.asked_at) cli.stdout.write(`${pipeline}: ${outcomesText(lookups)}last asked ${lookups.asked_at}\n`);
  for (const { pipeline, inbox } of status.pipelines)
    if (inbox && inbox.segments > 0)
      cli.stdout.write(
        `${pipeline}: ${counted(inbox.segments, 'segment')} of the inbox (${(inbox.bytes / 1e6).toFixed(1)} MB) to be taken in\n`,
      );
  for (const t of status.targets)
    cli.stdout.write(
      `${t.target}: ${t.error ?? (t.slices_behind === 0 ? 'holds everything that the lake holds' : `${t.slices_behind} slices behind the lake`)}\n`,
    );
  tellAside(cli, status);
  tellSchedule(cli, schedule);
  tellRuns(cli, status);
}

function outcomesText({ outcomes }: LookupStatus): string {
  const parts = Object.entries(outcomes).map(
    ([outcome, n]) => `${n.toLocaleString('en-US')} ${outcome.replaceAll('_', ' ')}`,
  );
  return parts.length === 0 ? '' : `${parts.join(', ')}; `;
}

const LEGEND = '█ settled (of look-ups and messages: something new)  o open  h held  ! failed  · missing';

function gridOf({ pipeline, days }: PipelineStatus): string {
  const shown = days.slice(-GRID_DAYS);
  const first = shown[0]?.day ?? '';
  return `${pipeline.padEnd(16)} ${first} ${shown.map((d) => MARK[d.state]).join('')} ${shown.at(-1)?.day ?? ''}`;
}

function tellAside(cli: CliContext, { holds, drift }: Status): void {
  if (holds.length > 0) {
    cli.stdout.write('\nHeld back (partner-etl release PIPELINE DAY applies one):\n');
    printTable(
      cli.stdout,
      [{ title: 'pipeline' }, { title: 'day' }, { title: 'why' }, { title: 'detail' }, { title: 'since' }],
      holds.map((h) => [h.pipeline, h.slice_day, h.reason, h.detail, h.held_at]),
    );
  }
  if (drift.length === 0) return;
  cli.stdout.write(
    '\nDrift seen in the last runs (check:NAME is a check that warned; its SQL is sql/checks/NAME.sql):\n',
  );
  printTable(
    cli.stdout,
    [
      { title: 'pipeline' },
      { title: 'rule' },
      { title: 'field' },
      { title: 'first seen' },
      { title: 'count', align: 'right' },
      { title: 'example' },
    ],
    drift.map((d) => [d.pipeline, d.kind, d.field, d.first_seen_at.slice(0, 16), d.count, shortened(d.example)]),
  );
}

/** One line of a table; the whole is in `--json` and in etl.drift. */
function shortened(example: string): string {
  return example.length > EXAMPLE_SHOWN ? `${example.slice(0, EXAMPLE_SHOWN)}…` : example;
}

function tellSchedule(cli: CliContext, schedule: Schedule): void {
  if (schedule.size === 0) return;
  cli.stdout.write('\nSchedule (of partner-etl serve; runs by hand are among the last runs):\n');
  printTable(
    cli.stdout,
    [{ title: 'pipeline' }, { title: 'next due' }, { title: 'last due' }, { title: 'started' }, { title: 'result' }],
    [...schedule].map(([pipeline, { next_due_at: next, last }]) => [
      pipeline,
      next ?? 'never',
      last?.due_at,
      last?.started_at,
      last && (last.result?.replaceAll('_', ' ') ?? 'did not end'),
    ]),
  );
}

function tellRuns(cli: CliContext, { runs }: Status): void {
  if (runs.length === 0) return void cli.stdout.write('\nNo run yet: partner-etl run\n');
  cli.stdout.write('\nLast runs:\n');
  printTable(
    cli.stdout,
    [
      { title: 'run' },
      { title: 'command' },
      { title: 'started' },
      { title: 'result' },
      { title: 'rows', align: 'right' },
      { title: 'changed', align: 'right' },
    ],
    runs.map((r) => [
      r.run_id,
      r.command,
      r.started_at,
      r.result ?? 'did not end',
      r.summary?.rows,
      r.summary?.slices_changed,
    ]),
  );
}
