/**
 * What every command that moves data shares: the lock, the run's record, a folder to work in, the engine, publication, the end.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { dayAt } from '../core/days.ts';
import { asEtlError, EtlError, EXIT } from '../core/errors.ts';
import { fieldsAbout, logWith, SAID_AT_END } from '../core/log.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { BudgetWait, PublishedRecord, RunRecord, RunResult, RunSummary } from '../core/records.ts';
import { spanning } from '../core/tracer.ts';
import { Engine } from '../engine/duckdb.ts';
import { type Lock, underGeneration, whoHolds } from '../store/locks.ts';
import { backUpState } from '../store/sqlite/backups.ts';
import { endedWell } from '../store/tables/runs.ts';
import type { Check } from '../warehouse/checks/checks.ts';
import type { Target } from '../warehouse/target.ts';
import { RUN_LOCK } from './at-work.ts';
import type { RunContext } from './context.ts';
import { RunLedger } from './ledger.ts';
import { checksFor } from './publish/check-holds.ts';
import { heldByChecks } from './publish/kept-holds.ts';
import type { Published } from './publish/publish.ts';
import { Publisher } from './publish/publisher.ts';
import { INTERRUPTED, Tally } from './tally.ts';
import { recoverFetches } from './verify/recover-fetches.ts';
import { namingSlice } from './verify/slice-problem.ts';
import type { RunChanges } from './window/what-changed.ts';

export interface Session {
  readonly context: RunContext;
  readonly ledger: RunLedger;
  readonly engine: Engine;
  readonly tally: Tally;
  readonly publisher: Publisher;
  /** Scratch folder of this run. */
  readonly work: string;
}

/** Into which targets a run publishes, and whether it makes them afresh. */
export interface Publishing {
  readonly targets: readonly Target[];
  readonly afresh: boolean;
  /** What is done at the end, when the targets have what the lake has. Errors of it are the run's. */
  readonly after?: (session: Session) => Promise<void>;
}

export interface RunOutcome {
  readonly run: RunRecord;
  readonly exitCode: number;
  readonly errors: readonly EtlError[];
  readonly published: readonly Published[];
  /** What the reports' answers changed. */
  readonly changes: RunChanges;
}

/**
 * Runs `work` under the run lock and publishes what the lake then holds.
 * Errors: `usage/check` when a file among the checks is none; `locked/run` when another run is at work; what goes wrong later is in the outcome.
 */
export async function runSession(
  context: RunContext,
  command: string,
  pipelines: readonly Pipeline[],
  work: (session: Session) => Promise<void>,
  publishing: Publishing = { targets: context.targets, afresh: false },
): Promise<RunOutcome> {
  // A file that is no check is named before anything is asked for or loaded.
  const checks = new Map<Target, readonly Check[]>();
  for (const target of publishing.targets) checks.set(target, await checksFor(context, target));
  const lock = await takeRunLock(context, command);
  return underGeneration(lock.generation, () =>
    underLock(context, command, pipelines, work, { publishing, checks, lock }),
  );
}

async function underLock(
  context: RunContext,
  command: string,
  pipelines: readonly Pipeline[],
  work: (session: Session) => Promise<void>,
  { publishing, checks, lock }: Locked,
): Promise<RunOutcome> {
  try {
    await context.state.file?.prove();
    await recoverFetches(context);
    await clearWork(context.paths.work);
    context.lake.reread();
    // After a run that failed as well: a full disk may have stopped a commit whose files were in place already.
    if (!(await endedWell(context.state.db))) await context.lake.sweep();
    const ledger = await RunLedger.begin(
      context.state,
      context.clock,
      command,
      pipelines.map((p) => p.name),
    );
    await context.step('run-recorded', ledger.runId);
    const folder = path.join(context.paths.work, `run-${ledger.runId}`);
    await mkdir(folder, { recursive: true });
    const engine = await Engine.open({ tempDir: path.join(folder, 'spill'), ...context.engine });
    try {
      const parts = sessionParts(context, ledger, engine);
      const { afresh } = publishing;
      const publisher = new Publisher({ context: parts.context, ledger, targets: checks, afresh });
      const session = { ...parts, publisher, work: folder };
      return await spanning(context.tracer, 'run', { run: ledger.runId, command }, async (span) => {
        const outcome = await perform(session, work, publishing.after);
        span.set({ result: outcome.run.result, exit_code: outcome.exitCode });
        span.fail(outcome.errors[0]);
        await backUp(context, outcome);
        return outcome;
      });
    } finally {
      engine.close();
      await rm(folder, { recursive: true, force: true });
    }
  } finally {
    await lock.release();
  }
}

interface Locked {
  readonly publishing: Publishing;
  readonly checks: ReadonlyMap<Target, readonly Check[]>;
  readonly lock: Lock;
}

/** From here on every line that is logged names the run. */
function sessionParts(given: RunContext, ledger: RunLedger, engine: Engine) {
  const log = logWith(given.log, { run: ledger.runId });
  const raw = given.raw.warning((message, fields) => log.warn(message, fields));
  const context: RunContext = { ...given, log, raw };
  return { context, ledger, engine, tally: new Tally() };
}

/** `reason`: of the signal; one of ours that says more than a request is cited, such as the limit that a run has reached. */
function interruption(reason: unknown): EtlError {
  const why = reason instanceof EtlError && reason.code !== INTERRUPTED ? reason : null;
  return new EtlError('failed', INTERRUPTED, `${why?.message ?? 'stopped on request'} before everything was fetched`, {
    hint: why?.hint ?? 'the same command goes on where this one stopped',
    ...(why === null ? {} : { cause: why }),
  });
}

async function perform(
  session: Session,
  work: (session: Session) => Promise<void>,
  after: Publishing['after'],
): Promise<RunOutcome> {
  const { context, ledger, tally } = session;
  const waitedBefore = context.budgetWaits();
  context.log.info('a run begins', { command: ledger.record.command });
  try {
    await work(session);
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown));
  }
  if (context.signal.aborted) tally.errors.push(interruption(context.signal.reason));
  await nameSlices(session);
  await context.step('publishing', ledger.runId);
  const published = await session.publisher.publishAll(
    (holds) => {
      for (const hold of holds) tally.heldByChecks.add(`${hold.pipeline} ${hold.slice_day}`);
      return ledger.endingAs(resultOf(session), tally.exitCode(), tally.summary());
    },
    (errors) => tally.errors.push(...errors),
  );
  await context.step('published', ledger.runId);
  try {
    await followLake(context, session.engine);
    await after?.(session);
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown));
  }
  await nameSlices(session);
  for (const error of tally.errors)
    context.log.error(error.message, {
      code: error.code,
      ...(error.hint === undefined ? {} : { fix: error.hint }),
      ...fieldsAbout(error.concern),
      [SAID_AT_END]: true,
    });
  const summary = { ...tally.summary(), ...howItWent(context.budgetWaits(), waitedBefore, published) };
  const run = await ledger.end(resultOf(session), tally.exitCode(), summary);
  const { result, exit_code } = run;
  context.log.info('the run has ended', { result, exit_code, rows: summary.rows, calls: summary.calls });
  await context.step('run-ended', ledger.runId);
  return { run, exitCode: tally.exitCode(), errors: tally.errors, published, changes: tally.changes.summary() };
}

/** The open lake follows the lake, when checks have said which slices nobody is to see yet. Nothing where it is off. */
export async function followLake(context: RunContext, engine: Engine): Promise<void> {
  const { openLake } = context;
  if (openLake !== null) await openLake.follow(engine, await heldByChecks(context));
}

/** Errors over damaged files of the lake say whose they are, and what fixes them. */
async function nameSlices({ context, tally }: Session): Promise<void> {
  for (const [i, error] of tally.errors.entries())
    tally.errors[i] = await namingSlice(context, error).catch(() => error); // the state may be damaged beside it
}

/** What a record tells of waiting and publishing; what there was none of is left out. */
function howItWent(
  waited: Readonly<Record<string, BudgetWait>>,
  before: Readonly<Record<string, BudgetWait>>,
  published: readonly Published[],
): Pick<RunSummary, 'waits' | 'published'> {
  const since = Object.entries(waited).map(([endpoint, { calls, ms }]) => {
    const old = before[endpoint] ?? { calls: 0, ms: 0 };
    return [endpoint, { calls: calls - old.calls, ms: ms - old.ms }] as const;
  });
  const waits = since.filter(([, { calls }]) => calls > 0);
  const loads = published.flatMap(({ target, result }): PublishedRecord[] =>
    result === null ? [] : [{ target, slices: result.slices, rows: result.rows, ms: result.tookMs }],
  );
  return {
    ...(waits.length > 0 ? { waits: Object.fromEntries(waits) } : {}),
    ...(loads.length > 0 ? { published: loads } : {}),
  };
}

function resultOf({ tally }: Session): RunResult {
  const code = tally.exitCode();
  if (code === EXIT.refused) return 'refused';
  if (tally.errors.some((error) => error.code === INTERRUPTED)) return 'interrupted';
  if (code === EXIT.setAside) return 'set_aside';
  return code === EXIT.done ? 'done' : 'failed';
}

async function takeRunLock(context: RunContext, command: string) {
  const lock = await context.locks.tryLock(RUN_LOCK, command);
  if (lock) return lock;
  throw new EtlError('locked', 'run', `another run is at work: ${await whoHolds(context.locks, RUN_LOCK)}`, {
    hint: 'wait until it ends, or look at partner-etl status',
  });
}

/** After a run that ended well. That there is no backup fails no run: the next one makes it. */
async function backUp({ state, paths, clock, timeZone, log }: RunContext, { run }: RunOutcome): Promise<void> {
  if (state.file === null || (run.result !== 'done' && run.result !== 'set_aside')) return;
  const nowMs = clock.now();
  try {
    await backUpState(state.file, paths.backups, dayAt(nowMs, timeZone), nowMs);
  } catch (thrown) {
    const { message, code } = asEtlError(thrown);
    log.warn(`the state could not be backed up, the next run tries again: ${message}`, { code });
  }
}

/** Removes what earlier runs left behind; only under the run lock. */
async function clearWork(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((n) => n.startsWith('run-')))
    await rm(path.join(folder, name), { recursive: true, force: true });
}
