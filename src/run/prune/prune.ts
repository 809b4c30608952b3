/**
 * Retention carried out. The order of steps makes a kill harmless at each of them: the rows of an object say that it is gone before
 * it is deleted, and what no row names is deleted the next time. Targets hear of it from these rows, with the next publication.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { dayAt } from '../../core/days.ts';
import { markPruned } from '../../store/tables/fetches.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import { deleteRuns } from '../../store/tables/runs.ts';
import type { RunContext } from '../context.ts';
import { type RunOutcome, runSession, type Session } from '../session.ts';
import { demandRetention, hasRetention, type PrunePlan, planPrune } from './plan.ts';

/** A step is about to be taken; a place for tests to stop the program. */
export type PruneStep = (name: 'marking' | 'deleting', about: string) => void | Promise<void>;

const NO_STEP: PruneStep = () => undefined;

/** What would be deleted now. Changes nothing. Errors: those of `planPrune`. */
export function plannedPrune(context: RunContext): Promise<PrunePlan> {
  return planPrune(context);
}

export interface Pruning {
  readonly outcome: RunOutcome;
  /** What was to be deleted; null when it came to no plan. */
  readonly plan: PrunePlan | null;
}

/** The command. Errors: `usage/no_retention`, `locked/run`. */
export async function runPrune(context: RunContext, step = NO_STEP): Promise<Pruning> {
  demandRetention(context);
  const plans: PrunePlan[] = [];
  const after = async (session: Session) => {
    if (context.signal.aborted) return;
    const plan = await plannedPrune(context);
    plans.push(plan);
    await carryOut(session, plan, step);
  };
  const { targets } = context;
  const outcome = await runSession(context, 'prune', [], async () => undefined, { targets, afresh: false, after });
  return { outcome, plan: plans[0] ?? null };
}

/** The day of the last night that pruned; lost, the next run prunes again. */
const MEMO = 'pruned-on';

/** At the end of a run, once a day: nothing where no retention is set. Errors are the run's. */
export async function pruneAfterNight(session: Session): Promise<void> {
  const { context } = session;
  if (!hasRetention(context) || context.signal.aborted) return;
  const { state, clock } = context;
  const on = dayAt(clock.now(), context.timeZone);
  if ((await readMemo(state.db, MEMO, z.string())) === on) return;
  const plan = await plannedPrune(context);
  await carryOut(session, plan, NO_STEP);
  await writeMemo(state, MEMO, on, isoTime(clock.now()));
  const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
  const answers = sum(plan.answers.map((one) => one.answers));
  const files = plan.files.length + plan.runs.length;
  const snapshots = sum([...plan.snapshots.values()]);
  if (answers + files + snapshots > 0)
    context.log.info(
      `retention deleted ${answers} answers, ${files} other files and records of runs, and ${snapshots} snapshots`,
      { answers, files, snapshots },
    );
}

async function carryOut({ context, engine }: Session, plan: PrunePlan, step: PruneStep): Promise<void> {
  const { place } = context.raw;
  for (const { pipeline, file } of plan.answers) {
    if (context.signal.aborted) return;
    await step('marking', file);
    await markPruned(context.state, { pipeline, object: file }, isoTime(context.clock.now()));
    await step('deleting', file);
    await place.delete(file);
  }
  for (const { file } of plan.unnamed) {
    await step('deleting', file);
    await place.delete(file);
  }
  for (const { file, isRaw } of plan.files) {
    await step('deleting', file);
    if (isRaw) await place.delete(file);
    else await rm(path.join(context.paths.root, file), { force: true });
  }
  await deleteRuns(context.state, plan.runs);
  await context.openLake?.tidy(engine);
  for (const target of context.targets) if (!context.signal.aborted) await target.tidy();
}
