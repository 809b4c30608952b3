/** The plan of what a night follows up; due.ts says what that is. */
import type { Pipeline } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { RunContext } from '../context.ts';
import { readAsked } from '../keys/asked.ts';
import type { KeysPlan } from '../keys/keys-plan.ts';
import type { Following } from './due.ts';
import { linksDue } from './links.ts';
import { processesDue } from './processes.ts';

export type FollowingPlan = KeysPlan & Following;

type FindDue = (context: RunContext, engine: Engine, pipeline: Pipeline) => Promise<Following>;

/** Plans what follows from messages. The table `asked` is there while `findDue` looks. */
async function planFollowing(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
  findDue: FindDue,
): Promise<FollowingPlan> {
  await readAsked(engine, context, pipeline, folder);
  try {
    const following = await findDue(context, engine, pipeline);
    const { calls, due, leftOut } = following;
    const details = { following: { due, left_out: leftOut } };
    return { ...following, pipeline, isDue: calls > 0, slices: 0, details, rejects: [], notes: [] };
  } finally {
    await engine.run('DROP TABLE IF EXISTS asked');
  }
}

export const planProcesses: PlanFollowing = (context, engine, pipeline, folder) =>
  planFollowing(context, engine, pipeline, folder, processesDue);

export const planLinks: PlanFollowing = (context, engine, pipeline, folder) =>
  planFollowing(context, engine, pipeline, folder, linksDue);

type PlanFollowing = (
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
) => Promise<FollowingPlan>;
