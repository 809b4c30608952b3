/** What a night is about to do, for whoever only wants to know. Calls nothing, changes nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Pipeline } from '../core/pipeline.ts';
import { Engine } from '../engine/duckdb.ts';
import type { RunContext } from './context.ts';
import type { Plan } from './plan.ts';
import { sourceOf } from './sources/index.ts';

export async function nightPlans(context: RunContext, pipelines: readonly Pipeline[]): Promise<Plan[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-plan-'));
  const engine = await Engine.open({ tempDir: path.join(folder, 'spill'), ...context.engine });
  try {
    const plans: Plan[] = [];
    for (const pipeline of pipelines) plans.push(await sourceOf(pipeline).plan(context, engine, pipeline, folder));
    return plans;
  } finally {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}
