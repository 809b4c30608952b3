/** The plan of what a night follows up; following-due.ts says what that is. */
import type { Pipeline } from '../core/pipeline.ts';
import type { Engine } from '../engine/duckdb.ts';
import { readAsked } from './asked.ts';
import type { RunContext } from './context.ts';
import type { Following } from './following-due.ts';
import { linksDue } from './following-links.ts';
import { processesDue } from './following-processes.ts';
import type { KeysPlan } from './keys-plan.ts';

export type FollowingPlan = KeysPlan & Following;

type FindDue = (context: RunContext, engine: Engine, pipeline: Pipeline) => Promise<Following>;

/** Plans what follows from messages. The table `asked` is there while `findDue` looks. */
async function planFollowing(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  findDue: FindDue,
): Promise<FollowingPlan> {
  await readAsked(engine, context, pipeline);
  try {
    const following = await findDue(context, engine, pipeline);
    const { calls, due, leftOut } = following;
    const details = { following: { due, left_out: leftOut } };
    return { ...following, pipeline, isDue: calls > 0, slices: 0, details, rejects: [], notes: [] };
  } finally {
    await engine.run('DROP TABLE IF EXISTS asked');
  }
}

export const planProcesses: PlanFollowing = (context, engine, pipeline) =>
  planFollowing(context, engine, pipeline, processesDue);

export const planLinks: PlanFollowing = (context, engine, pipeline) =>
  planFollowing(context, engine, pipeline, linksDue);

type PlanFollowing = (context: RunContext, engine: Engine, pipeline: Pipeline) => Promise<FollowingPlan>;
