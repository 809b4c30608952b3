/**
 * Fetches planned windows and makes them the lake's content. While one window is normalised the next one is on its way:
 * the two use different resources (the network and one core here, DuckDB's threads there).
 */
import path from 'node:path';
import { type Day, daysOf } from '../../core/days.ts';
import { asEtlError, type EtlError } from '../../core/errors.ts';
import { sliceText } from '../../core/log.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { PlannedWindow } from '../../core/plan.ts';
import type { ProgressBudget } from '../../core/progress.ts';
import type { Span } from '../../core/tracer.ts';
import { reportBudget } from '../../partner/reports.ts';
import type { Partner } from '../context.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { daysWithoutAnswer, daysWithoutRecord } from '../verify/answers-behind.ts';
import { damagedDays } from '../verify/slice-problem.ts';
import type { WindowPlan } from './planned-windows.ts';
import { applyWindow, type TakenIn, takeIn } from './window.ts';

/** So many windows of one pipeline may fail in a row before the rest of it is given up for this run. */
const FAILURES_IN_A_ROW = 3;

/** Fetches the windows of one pipeline. Failed ones are in the tally; a refusal ends it. */
export async function fetchPipeline(session: Session, partners: Partners, plan: WindowPlan): Promise<void> {
  if (plan.windows.length === 0) return;
  const partner = await partners.of(plan.pipeline);
  const { context, tally } = session;
  const { pipeline, windows } = plan;
  context.progress.begin(pipeline.name, windows.length, 'window', budgetOf(partner, pipeline));
  const anew = await daysToWriteAnew(session, pipeline, windows);
  let failures = 0;
  let isOver = false;
  let next = windows[0] ? begin(session, partner, pipeline, windows[0], 0) : null;
  for (let i = 0; i < windows.length && next; i++) {
    const { taken, span } = await next;
    const isLast = context.signal.aborted || i + 1 >= windows.length;
    const failed = taken instanceof Error ? taken : null;
    const mayGoOn = !isLast && !(failed && (failed.kind === 'refused' || failures + 1 >= FAILURES_IN_A_ROW));
    next = mayGoOn ? begin(session, partner, pipeline, windows[i + 1]!, i + 1) : null;
    const error = failed ?? (await span.within(() => settle(session, pipeline, taken as TakenIn, anew)));
    span.fail(error);
    span.end();
    failures = error ? failures + 1 : 0;
    if (!error) continue;
    if (!context.signal.aborted) tally.errors.push(error);
    isOver = context.signal.aborted || error.kind === 'refused' || error.kind === 'bug';
    if (!isOver && failures < FAILURES_IN_A_ROW) continue;
    (await next)?.span.end(); // it may still be writing into the run's folder
    if (!isOver && i + 1 < windows.length)
      context.progress.note(`${pipeline.name}: ${failures} windows failed in a row, the rest waits for the next run`);
    break;
  }
  context.progress.end(pipeline.name);
}

/** Asked for although they are loaded: whoever asks so may have been told that an answer is damaged. */
function requestedDays(windows: readonly PlannedWindow[]): Day[] {
  return windows.flatMap(({ slices }) => slices.filter(({ reason }) => reason === 'requested').map(({ day }) => day));
}

/** Those that stand on a fetch without a record; of the days asked for also those whose answer is damaged or lost, or whose own files are. */
async function daysToWriteAnew(
  { context, engine }: Session,
  pipeline: Pipeline,
  windows: readonly PlannedWindow[],
): Promise<ReadonlySet<Day>> {
  const requested = requestedDays(windows);
  return new Set([
    ...(await damagedDays(engine, context.lake, pipeline, requested)),
    ...(await daysWithoutAnswer(context, pipeline, requested)),
    ...(await daysWithoutRecord(context, pipeline, windows.flatMap(daysOf))),
  ]);
}

interface Begun {
  readonly taken: TakenIn | EtlError;
  /** Of the window, until it is settled. */
  readonly span: Span;
}

function budgetOf({ client, settings }: Partner, pipeline: Pipeline): ProgressBudget {
  const { endpoint, budget } = reportBudget(settings.calls, pipeline);
  const { calls, perSeconds } = budget;
  return { kind: 'rate', calls, perSeconds, left: () => client.budgetLeft(endpoint, budget) };
}

/** Starts to take a window in. Never rejects: an error is a value, since nobody may be listening yet. */
async function begin(
  session: Session,
  partner: Partner,
  pipeline: Pipeline,
  window: PlannedWindow,
  index: number,
): Promise<Begun> {
  const { context, work } = session;
  const folder = path.join(work, `${pipeline.name}-${index}`);
  const slice = sliceText(window.from, window.to);
  const span = context.tracer.open('window', { pipeline: pipeline.name, slice });
  const taken = await span.within(() =>
    takeIn(context, partner, pipeline, window, folder).catch((thrown) =>
      asEtlError(thrown).about({ pipeline: pipeline.name, window: `${window.from}..${window.to}` }),
    ),
  );
  return { taken, span };
}

/** Applies a window; the error it failed with, or null. */
async function settle(
  session: Session,
  pipeline: Pipeline,
  taken: TakenIn,
  anew: ReadonlySet<Day>,
): Promise<EtlError | null> {
  const { context, engine, tally, ledger } = session;
  const { from, to } = taken.range;
  try {
    const result = await applyWindow(context, engine, pipeline, taken, { anew });
    tally.add(result);
    ledger.drift.push(...result.drift);
    context.progress.window(pipeline.name, { from, to, rows: result.rows, changed: result.changed });
    return null;
  } catch (thrown) {
    return asEtlError(thrown).about({ pipeline: pipeline.name, window: `${from}..${to}` });
  }
}
