/** The open lake follows the lake at the end of a run, when checks have said which slices nobody is to see yet. */
import type { Day } from '../core/days.ts';
import { type Pipeline, parentName } from '../core/pipeline.ts';
import type { Engine } from '../engine/duckdb.ts';
import type { RunContext } from './context.ts';
import { allCheckHolds } from './publish/kept-holds.ts';

/** Nothing where it is off. Under the run lock. */
export async function followLake(context: RunContext, engine: Engine): Promise<void> {
  const { openLake } = context;
  if (openLake !== null) await openLake.follow(engine, await heldByChecks(context));
}

/** Whether a check keeps a slice, or the whole that it is a part of, out of a target. */
export async function heldByChecks(context: RunContext): Promise<(pipeline: Pipeline, day: Day) => boolean> {
  const held = new Set((await allCheckHolds(context)).map((hold) => `${hold.pipeline} ${hold.slice_day}`));
  return (pipeline, day) => held.has(`${pipeline.name} ${day}`) || held.has(`${parentName(pipeline)} ${day}`);
}
