/** The commands that load again without calling the service: replay from the raw store, rebuild from the lake, release of holds. */
import { type Day, type DayRange, FIRST_DAY } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { childrenOf, isNamed, type Pipeline } from '../core/pipeline.ts';
import { pipelineNamed, type RunContext } from './context.ts';
import { carryOut } from './loop.ts';
import { releaseFromChecks } from './publish/kept-holds.ts';
import { type RunOutcome, runSession } from './session.ts';
import { sourceOf } from './sources/index.ts';
import type { Wanted } from './sources/source.ts';

/** Loads the newest stored answers of the range again, and what differs replaces what is there. */
export function runReplay(context: RunContext, name: string, range: DayRange): Promise<RunOutcome> {
  const command = `replay ${name} --from ${range.from} --to ${range.to}`;
  return loadStored(context, command, pipelineNamed(context, name), { range, isWanted: () => true });
}

/** Normalises the slices that have rejects again. Errors: `usage/no_rejects`. */
export async function retryRejects(context: RunContext, name: string): Promise<RunOutcome> {
  const pipeline = pipelineNamed(context, name);
  const slices = [...(await context.lake.slices(name)).values()].filter((e) => e.content.rejects > 0);
  const [first, last] = [slices[0]?.content.day, slices.at(-1)?.content.day];
  if (!first || !last)
    throw new EtlError('usage', 'no_rejects', `${name} has no rejects`, { hint: 'there is nothing to retry' });
  const days = new Set(slices.map((e) => e.content.day));
  const range = { from: first, to: last };
  return loadStored(context, `rejects ${name} --retry`, pipeline, { range, isWanted: (day) => days.has(day) });
}

function loadStored(context: RunContext, command: string, pipeline: Pipeline, wanted: Wanted): Promise<RunOutcome> {
  return runSession(context, command, withChildren(context, pipeline), async (session) => {
    await carryOut(session, pipeline, () => sourceOf(pipeline).stored(session, pipeline, wanted));
  });
}

function withChildren({ pipelines }: RunContext, pipeline: Pipeline): Pipeline[] {
  return [pipeline, ...childrenOf(pipelines, pipeline)];
}

/** Makes one warehouse, or all, afresh from the lake. */
export function runRebuild(context: RunContext, name: string | undefined): Promise<RunOutcome> {
  const targets = context.targets.filter((t) => name === undefined || t.name === name);
  if (targets.length === 0)
    throw new EtlError('usage', 'no_target', name ? `no target "${name}" is switched on` : 'no target is switched on', {
      hint: `switched on: ${context.targets.map((t) => t.name).join(', ') || 'none'}; Postgres needs PARTNER_ETL_POSTGRES_URL, DuckLake PARTNER_ETL_DUCKLAKE_URL`,
    });
  const command = name === undefined ? 'rebuild' : `rebuild --target ${name}`;
  return runSession(context, command, context.pipelines, async () => undefined, { targets, afresh: true });
}

/** Makes what rows were, and since when they are as they are, afresh from the raw store; then every warehouse from the lake. */
export function runRebuildHistory(context: RunContext): Promise<RunOutcome> {
  const pipelines = context.pipelines.filter((one) => one.keepsHistory && isNamed(one));
  const all: Wanted = { range: { from: FIRST_DAY, to: context.today }, isWanted: () => true };
  return runSession(
    context,
    'rebuild --history',
    context.pipelines,
    async (session) => {
      for (const pipeline of pipelines) {
        const { history, stored } = sourceOf(pipeline);
        const slices = [...(await context.lake.slices(pipeline.name)).values()];
        if (slices.some(({ content }) => content.rows > 0))
          await carryOut(session, pipeline, () => history?.(session, pipeline) ?? stored(session, pipeline, all));
      }
    },
    { targets: context.targets, afresh: true },
  );
}

/** Applies a held slice; one that a check holds is published in spite of it. Errors: `usage/not_held`. */
export async function runRelease(context: RunContext, name: string, day: Day): Promise<RunOutcome> {
  const pipeline = pipelineNamed(context, name);
  const held = (await context.lake.slices(name)).get(day)?.held;
  if (!held && (await releaseFromChecks(context, pipeline, day)))
    return runSession(context, `release ${name} ${day}`, [pipeline], async () => undefined);
  if (!held)
    throw new EtlError('usage', 'not_held', `${name} ${day} is not held`, {
      hint: 'partner-etl status lists what is held',
    });
  return runSession(context, `release ${name} ${day}`, [pipeline], async (session) => {
    await carryOut(session, pipeline, () => sourceOf(pipeline).held(session, pipeline, { day, held }), true);
  });
}
