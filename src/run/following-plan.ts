/** The plan of what a night follows up; following-due.ts says what that is. */
import type { Pipeline } from '../core/pipeline.ts';
import type { Engine } from '../engine/duckdb.ts';
import { readAsked } from './asked.ts';
import type { RunContext } from './context.ts';
import type { Following } from './following-due.ts';
import { planLinks } from './following-links.ts';
import { planProcesses } from './following-processes.ts';

export interface FollowingPlan extends Following {
  readonly kind: 'following';
  readonly pipeline: Pipeline;
}

/** Whether the pipeline's calls follow from what was pushed or started. */
export function isFollowing({ source }: Pipeline): boolean {
  return source.kind === 'lookup' && (source.lookup === 'process-status' || source.lookup === 'push-link');
}

/** Reads the messages in the lake and what is known. Calls nothing. */
export async function planFollowing(context: RunContext, engine: Engine, pipeline: Pipeline): Promise<FollowingPlan> {
  const isLinks = pipeline.source.kind === 'lookup' && pipeline.source.lookup === 'push-link';
  await readAsked(engine, context, pipeline);
  try {
    const following = await (isLinks ? planLinks : planProcesses)(context, engine, pipeline);
    return { kind: 'following', pipeline, ...following };
  } finally {
    await engine.run('DROP TABLE IF EXISTS asked');
  }
}
