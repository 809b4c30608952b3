import type { Command } from 'commander';
import { isNamed } from '../../core/pipeline.ts';
import { partnerIfAny } from '../../run/partners.ts';
import { type Status, statusOf } from '../../run/status/status.ts';
import type { LookupStatus, PipelineStatus } from '../../run/status/status-days.ts';
import { type ScheduleStatus, scheduleStatus } from '../../serve/schedule/status.ts';
import type { CliContext } from '../context.ts';
import { orDemo } from '../demo/home.ts';
import { addExamples } from '../help.ts';
import { counted, printJson, printTable } from '../print/output.ts';
import { gridLine, legend } from '../print/status-grid.ts';
import { withApp } from '../with-app.ts';
import { schedulesOf } from './serve.ts';

export function register(program: Command, cli: CliContext): void {
  const command = program
    .command('status')
    .description('freshness of every pipeline, the grid of days, holds, rejects, drift, the last runs')
    .option('--json', 'print one JSON document')
    .action(async ({ json = false }: { json?: boolean }) => {
      const at = await orDemo(cli);
      const config = await at.config();
      const [status, schedule, mayCall] = await withApp(at, async (context) => {
        const schedules = schedulesOf(config, context.pipelines.filter(isNamed));
        const schedule = await scheduleStatus(context.state, schedules, cli.clock.now());
        return [await statusOf(context), schedule, partnerIfAny(context, 'reports') !== null] as const;
      });
      if (json) printJson(cli.stdout, withSchedule(status, schedule));
      else if (!mayCall && schedule.size === 0 && isEmpty(status)) cli.stdout.write(NOT_SET_UP);
      else printStatus(cli, status, schedule);
    });
  addExamples(command, [
    ['status', 'how things stand'],
    ['status --json', 'the same for a program'],
  ]);
}

const EXAMPLE_SHOWN = 120;
type Schedule = ReadonlyMap<string, ScheduleStatus>;

function withSchedule(status: Status, schedule: Schedule) {
  const pipelines = status.pipelines.map((p) => ({ ...p, schedule: schedule.get(p.pipeline) ?? null }));
  return { ...status, pipelines };
}

const NOT_SET_UP = `Nothing is set up yet, and nothing is loaded. What to do next:
  partner-etl demo    see it work on made-up data, without credentials
  partner-etl init    enter addresses and credentials
  partner-etl run     then loads the first nights
`;

function isEmpty({ pipelines, runs }: Status): boolean {
  return runs.length === 0 && pipelines.every(({ newest }) => newest === null);
}

function printStatus(cli: CliContext, status: Status, schedule: Schedule): void {
  printVerdict(cli, status);
  printPipelines(cli, status);
  const { isTTY, columns } = cli.stdout;
  const width = isTTY ? columns : Number.POSITIVE_INFINITY;
  cli.stdout.write(`\n${status.pipelines.map((one) => gridLine(one, width)).join('\n')}\n${legend(width)}\n`);
  for (const { pipeline, lookups } of status.pipelines)
    if (lookups?.asked_at) cli.stdout.write(`${pipeline}: ${outcomesText(lookups)}last asked ${lookups.asked_at}\n`);
  for (const { pipeline, inbox } of status.pipelines)
    if (inbox && inbox.messages > 0)
      cli.stdout.write(
        `${pipeline}: ${counted(inbox.messages, 'message')} of the inbox (${(inbox.bytes / 1e6).toFixed(1)} MB) to be taken in\n`,
      );
  for (const t of status.targets)
    cli.stdout.write(
      `${t.target}: ${t.error ?? (t.slices_behind === 0 ? 'holds everything that the lake holds' : `${t.slices_behind} slices behind the lake`)}\n`,
    );
  printAside(cli, status);
  printSchedule(cli, status, schedule);
  printRuns(cli, status);
}

function printVerdict(cli: CliContext, { verdict: { sentence, needs }, runs, run_at_work: atWork }: Status): void {
  const lines = [`${sentence}${needs.length > 0 ? ':' : ''}`];
  for (const { words, command } of needs)
    lines.push(words.includes('partner-etl') ? `  ${words}` : `  ${words}: partner-etl ${command}`);
  const run = runs.find(({ run_id: id }) => id === atWork);
  if (run) lines.push(`Running since ${run.started_at}: ${run.command}`);
  cli.stdout.write(`${lines.join('\n')}\n\n`);
}

/** Counts that are all well when they are zero stand on a terminal only where one is not. */
function printPipelines(cli: CliContext, { pipelines }: Status): void {
  const align = 'right' as const;
  const counts = [
    ...(['settled', 'open', 'held', 'failed', 'missing'] as const).map((title) => ({
      title,
      of: (p: PipelineStatus) => p.counts[title],
    })),
    { title: 'rejects', of: (p: PipelineStatus) => p.rejects },
  ].filter(
    ({ title, of }) => !cli.stdout.isTTY || title === 'settled' || title === 'open' || pipelines.some((p) => of(p) > 0),
  );
  printTable(
    cli.stdout,
    [
      { title: 'pipeline' },
      { title: 'newest day' },
      { title: 'behind', align },
      { title: 'rows', align },
      ...counts.map(({ title }) => ({ title, align })),
    ],
    pipelines.map((p) => [
      p.enabled ? p.pipeline : `${p.pipeline} (off)`,
      p.newest ?? 'never loaded',
      p.days_behind === null ? '' : `${p.days_behind} d`,
      p.rows.toLocaleString('en-US'),
      ...counts.map(({ of }) => of(p)),
    ]),
  );
}

function outcomesText({ outcomes }: LookupStatus): string {
  const parts = Object.entries(outcomes).map(
    ([outcome, n]) => `${n.toLocaleString('en-US')} ${outcome.replaceAll('_', ' ')}`,
  );
  return parts.length === 0 ? '' : `${parts.join(', ')}; `;
}

function printAside(cli: CliContext, { holds, drift }: Status): void {
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

function printSchedule(cli: CliContext, { runs, run_at_work: atWork }: Status, schedule: Schedule): void {
  const working = runs.find(({ run_id: id }) => id === atWork)?.pipelines ?? [];
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
      last && (last.result?.replaceAll('_', ' ') ?? (working.includes(pipeline) ? 'running' : 'did not end')),
    ]),
  );
}

function printRuns(cli: CliContext, { runs, run_at_work: atWork }: Status): void {
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
      r.result ?? (r.run_id === atWork ? 'running' : 'did not end'),
      r.summary?.rows,
      r.summary?.slices_changed,
    ]),
  );
}
