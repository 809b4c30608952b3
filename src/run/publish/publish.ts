/**
 * Publication: what the lake holds and a target does not is loaded into the target, everything of a run at once.
 *
 * It compares receipts with the lake and not with what this run did, so a target that was switched on later, was down for three
 * nights, or was rebuilt, catches up without a call. A slice that cannot be loaded (its file is damaged, its sums do not
 * agree) is left out and reported; the rest is published. So are slices that break a blocking check, all at once: they are held.
 */
import { isoTime } from '../../core/clock.ts';
import { asEtlError, type EtlError } from '../../core/errors.ts';
import { bornMs } from '../../core/ids.ts';
import { fieldsAbout } from '../../core/log.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { DriftRecord, RunRecord } from '../../core/records.ts';
import { readReleased } from '../../store/tables/check-holds.ts';
import { fetchesOfRuns, prunedSince } from '../../store/tables/fetches.ts';
import { driftOfRuns, runsSince } from '../../store/tables/runs.ts';
import { changedSlices } from '../../warehouse/changes.ts';
import { BlockedByChecks, type Check } from '../../warehouse/checks/checks.ts';
import type {
  HoldRecord,
  LoadSlice,
  Publication,
  PublishResult,
  PublishWatcher,
  Target,
  TargetState,
} from '../../warehouse/target.ts';
import { NO_STATE } from '../../warehouse/target-state.ts';
import type { RunContext } from '../context.ts';
import { leaveOut } from './check-holds.ts';
import { allCheckHolds, type CheckHold, holdsIn, keepHolds, sameHolds, withoutTwice } from './kept-holds.ts';

export interface Published {
  readonly target: string;
  readonly result: PublishResult | null;
  readonly errors: readonly EtlError[];
  /** Slices that checks keep out of this target. */
  readonly holds: readonly CheckHold[];
}

/** The run's record, as it will end when these slices are kept back. */
export type Ending = (holds: readonly CheckHold[]) => RunRecord;

/** Slices that may be left out one by one before a publication is given up: beyond that the fault is not the slices'. */
const MOST_LEFT_OUT = 50;
const TRIES = 3;

/** Slices of the lake whose content a target does not have. */
export async function missingIn(context: RunContext, target: Target): Promise<LoadSlice[]> {
  return changedSlices({ slices: await allSlices(context) }, () => target.receipts());
}

/** Every slice that the lake holds. */
async function allSlices(context: RunContext): Promise<LoadSlice[]> {
  const slices: LoadSlice[] = [];
  for (const pipeline of context.pipelines)
    for (const entry of (await context.lake.slices(pipeline.name)).values())
      slices.push({
        pipeline,
        content: entry.content,
        file: context.lake.rowsFile(entry),
        rejectsFile: context.lake.rejectsFile(entry),
      });
  return slices;
}

export interface PublishWhat {
  /** What the slices must stand. */
  readonly checks: readonly Check[];
  /** What this run saw that the contract does not know. */
  readonly drift: readonly DriftRecord[];
  /** Load everything again, whatever the receipts say. */
  readonly afresh: boolean;
  /** Slices of other pipelines are left for later; null: everything. */
  readonly only: readonly Pipeline[] | null;
}

/** Brings one target up to the lake. Never throws for what the target does: errors are in the result. */
export async function publishTo(
  context: RunContext,
  target: Target,
  ending: Ending,
  what: PublishWhat,
): Promise<Published> {
  const attempt = new Attempt(context, target, await holdsIn(context, target.name));
  try {
    // What is made afresh is not asked: it may be damaged.
    const state = what.afresh ? { ...NO_STATE, isOutdated: true } : await target.state();
    const { only, afresh } = what;
    const isMeant = (name: string) => only === null || only.some((pipeline) => pipeline.name === name);
    const slices = (await allSlices(context)).filter(({ pipeline }) => isMeant(pipeline.name));
    attempt.slices = await changedSlices({ slices, afresh }, async () => state.receipts);
    // What is left for later stays held until it is looked at again.
    attempt.holds = attempt.standing.filter(({ pipeline }) => !isMeant(pipeline));
    const result = await publishAttempt(attempt, ending, state, what);
    await keepHolds(context, target.name, attempt.standing, attempt.holds);
    return { target: target.name, result, errors: attempt.errors, holds: attempt.holds };
  } catch (thrown) {
    const error = asEtlError(thrown).about({ target: target.name });
    return { target: target.name, result: null, errors: [...attempt.errors, error], holds: [] };
  }
}

/** What is left of a publication while slices are taken out of it. */
class Attempt {
  readonly context: RunContext;
  readonly target: Target;
  /** What checks held before. */
  readonly standing: readonly CheckHold[];
  slices: LoadSlice[] = [];
  holds: CheckHold[] = [];
  readonly errors: EtlError[] = [];

  constructor(context: RunContext, target: Target, standing: readonly CheckHold[]) {
    this.context = context;
    this.target = target;
    this.standing = standing;
  }

  /** Takes out the slices that the error is about; false where there are none. */
  async leaveOut(error: EtlError): Promise<boolean> {
    const { pipeline, day } = error.concern;
    const before = this.slices.length;
    if (error instanceof BlockedByChecks) {
      const { rest, held } = await leaveOut(this.context, this.target, this.slices, error, this.standing);
      this.slices = rest;
      this.holds = withoutTwice([...this.holds, ...held]);
    } else if (error.kind === 'failed' && pipeline && day && this.errors.length < MOST_LEFT_OUT) {
      this.errors.push(error);
      this.slices = this.slices.filter((s) => s.pipeline.name !== pipeline || s.content.day !== day);
    }
    return this.slices.length < before;
  }
}

async function publishAttempt(
  attempt: Attempt,
  ending: Ending,
  state: TargetState,
  { checks, drift, afresh }: PublishWhat,
): Promise<PublishResult | null> {
  const { context, target } = attempt;
  const { isOutdated, lastRunId } = state;
  const inLake = await lakeHolds(context);
  let recorded: Recorded | null = null;
  for (let tries = 1; ; ) {
    const { slices } = attempt;
    const watcher = watching(context, target, slices);
    const run = ending(attempt.holds);
    const holds = withoutTwice([...inLake, ...attempt.holds]);
    const showHolds = !sameHolds(state.holds, holds);
    // A changed setting, a newer program's tables, and what is held or no longer held, are published like a changed slice: views must
    // say it at once.
    if (slices.length === 0 && !showHolds && !isOutdated) return null;
    recorded ??= await recordedWith(context, lastRunId, run.run_id, drift);
    try {
      return await target.publish({
        ...recorded,
        run,
        holds,
        slices,
        afresh,
        checks,
        showHolds,
        tracer: context.tracer,
        watcher,
        // A try that failed may have come to pass all the same.
        ...(tries === 1 ? { known: state } : {}),
      });
    } catch (thrown) {
      const error = asEtlError(thrown).about({ target: target.name });
      if (await attempt.leaveOut(error)) continue;
      if (error.kind !== 'retry' || tries >= TRIES) throw error;
      context.log.warn(`${target.name}: ${error.message}; trying again`, {
        code: error.code,
        ...fieldsAbout(error.concern),
      });
      await context.clock.sleep(1000 * 2 ** tries, context.signal);
      tries += 1;
    } finally {
      context.progress.end(target.name);
    }
  }
}

/** Begins to show how the slices get into the target; nothing where there are none. */
function watching({ progress }: RunContext, { name }: Target, slices: readonly LoadSlice[]): PublishWatcher {
  const total = slices.reduce((sum, { content }) => sum + content.rows, 0);
  if (slices.length > 0) progress.begin(name, total, 'row');
  return {
    onRows: (rows) => progress.window(name, { from: '', to: '', rows, changed: 0 }),
    onStep: (what) => progress.step(name, what),
  };
}

/** What a publication records beside slices and holds; the same for every try. */
type Recorded = Pick<Publication, 'runs' | 'drift' | 'pruned' | 'fetches' | 'released'>;

/** Of run `runId`. `last`: the newest run that the target knows; null: none. */
async function recordedWith(
  context: RunContext,
  last: string | null,
  runId: string,
  drift: readonly DriftRecord[],
): Promise<Recorded> {
  const { db } = context.state;
  const earlier = (await runsSince(db, last)).filter((r) => r.run_id !== runId);
  const ids = earlier.map((r) => r.run_id);
  const unseen = [...(await driftOfRuns(db, ids)).values()].flat();
  return {
    runs: earlier,
    drift: [...drift, ...unseen],
    // Answers are deleted at the end of a run, when its record is published already.
    pruned: last === null ? [] : await prunedSince(db, isoTime(bornMs(last) || 0)),
    // Those of commands are of no run, but have ids of the same kind.
    fetches: await fetchesOfRuns(db, last, runId),
    released: new Set((await readReleased(db)).keys()),
  };
}

/** Every hold that stands: in the lake, and of checks. */
export async function standingHolds(context: RunContext): Promise<HoldRecord[]> {
  return withoutTwice([...(await lakeHolds(context)), ...(await allCheckHolds(context))]);
}

async function lakeHolds(context: RunContext): Promise<HoldRecord[]> {
  const holds: HoldRecord[] = [];
  for (const pipeline of context.pipelines)
    for (const { held } of (await context.lake.slices(pipeline.name)).values())
      if (held)
        holds.push({
          pipeline: pipeline.name,
          slice_day: held.content.day,
          reason: held.reason,
          detail: held.detail,
          digest: held.content.digest,
          rows: held.content.rows,
          rows_before: held.rows_before,
          fetch_id: held.content.fetch_id,
          held_at: held.held_at,
        });
  return holds;
}
