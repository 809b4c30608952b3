/**
 * Retention carried out. The order of steps makes a kill harmless at each of them: an answer is marked before it is deleted, and a
 * mark counts only once it is gone; targets hear of it by the run's record, and what a killed run did not tell the next one tells.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { isoTime } from '../core/clock.ts';
import { dayAt } from '../core/days.ts';
import { punch } from '../extract/pack-marks.ts';
import { pruneAnswer } from '../extract/vault-pruning.ts';
import { readMemo, writeMemo } from '../store/memo.ts';
import { deleteRuns, prunedUntil } from '../store/runs.ts';
import type { RunContext } from './context.ts';
import { demandRetention, hasRetention, type PrunePlan, planPrune } from './prune-plan.ts';
import type { Doomed } from './prune-walk.ts';
import { type RunOutcome, runSession, type Session } from './session.ts';

/** A step is about to be taken; a place for tests to stop the program. */
export type PruneStep = (name: 'marking' | 'deleting' | 'telling', about: string) => void | Promise<void>;

const NO_STEP: PruneStep = () => undefined;

/** What would be deleted now. Changes nothing. Errors: those of `planPrune`. */
export async function plannedPrune(context: RunContext): Promise<PrunePlan> {
  return planPrune(context, await prunedUntil(context.state.db));
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
  const [answers, files] = [
    plan.answers.reduce((sum, one) => sum + one.answers, 0),
    plan.files.length + plan.runs.length,
  ];
  if (answers + files > 0)
    context.log.info(`retention deleted ${answers} answers and ${files} other files and records of runs`, {
      answers,
      files,
    });
}

async function carryOut({ context, ledger }: Session, plan: PrunePlan, step: PruneStep): Promise<void> {
  ledger.pruned.push(...plan.untold);
  for (const doomed of plan.answers) {
    if (context.signal.aborted) return;
    const at = isoTime(context.clock.now());
    await prune(context, doomed, at, step);
    for (const id of doomed.fetchIds) ledger.pruned.push({ fetch_id: id, pruned_at: at });
  }
  for (const { file } of plan.files) {
    await step('deleting', file);
    await rm(path.join(context.paths.root, file), { force: true });
  }
  await deleteRuns(context.state, plan.runs);
  await step('telling', ledger.runId);
}

async function prune({ paths }: RunContext, doomed: Doomed, at: string, step: PruneStep): Promise<void> {
  const file = path.resolve(paths.root, doomed.file);
  const tell = (name: 'marking' | 'deleting') => step(name, doomed.file);
  if (doomed.pack === null) await pruneAnswer(file, doomed.sidecars, at, tell);
  else await punch(file, doomed.pack.dropped, doomed.pack.kept, at, tell);
}
