/** The commands that fetch: the nightly run and the backfill. */
import type { DayRange } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import { childrenOf, isNamed, type Pipeline } from '../core/pipeline.ts';
import { spanning } from '../core/tracer.ts';
import { pipelineNamed, type RunContext } from './context.ts';
import { carryOut } from './loop.ts';
import { Partners } from './partners.ts';
import type { Plan } from './plan.ts';
import { nightPlans } from './plans.ts';
import { pruneAfterNight } from './prune/prune.ts';
import { publishWhatIsDone } from './publish/early.ts';
import { type RunOutcome, runSession, type Session } from './session.ts';
import { sourceOf } from './sources/index.ts';

/** The pipelines of those names, or every enabled one when none is named. Errors: `usage/no_pipeline`. */
export function chosenPipelines(context: RunContext, names: readonly string[]): Pipeline[] {
  if (names.length > 0) return [...new Set(names)].map((name) => pipelineNamed(context, name));
  return context.pipelines.filter((p) => isNamed(p) && context.isEnabled(p));
}

/** Fetches what is due, loads it, publishes it. */
export async function runNight(context: RunContext, names: readonly string[]): Promise<RunOutcome> {
  const pipelines = chosenPipelines(context, names);
  await demandPartners(context, pipelines, () => nightPlans(context, pipelines));
  const work = async (session: Session, partners: Partners, pipeline: Pipeline) => {
    const source = sourceOf(pipeline);
    const due = async () =>
      source.requests(session, partners, await source.plan(session.context, session.engine, pipeline, session.work));
    if (await carryOut(session, pipeline, () => source.pending(session, pipeline)))
      await carryOut(session, pipeline, due);
  };
  return runPipelines(context, ['run', ...names].join(' '), pipelines, work, pruneAfterNight);
}

/** Whether these pipelines have anything to fetch or to take in. Calls nothing, changes nothing. */
export async function isAnythingDue(context: RunContext, names: readonly string[]): Promise<boolean> {
  const plans = await nightPlans(context, chosenPipelines(context, names));
  return plans.some(({ isDue }) => isDue);
}

/** Loads a past range of reports: days never loaded, or all of them with `refetch`. Errors: `usage/no_past`. */
export async function runBackfill(
  context: RunContext,
  names: readonly string[],
  range: DayRange,
  refetch: boolean,
): Promise<RunOutcome> {
  const pipelines = backfillable(chosenPipelines(context, names), names, range);
  const command = `backfill ${names.join(' ')} --from ${range.from} --to ${range.to}${refetch ? ' --refetch' : ''}`;
  const plan = async (pipeline: Pipeline) => {
    const found = await sourceOf(pipeline).planPast?.(context, pipeline, range, refetch);
    assert(found, `${pipeline.name} has no past`);
    return found;
  };
  await demandPartners(context, pipelines, () => Promise.all(pipelines.map(plan)));
  return runPipelines(context, command, pipelines, async (session, partners, pipeline) => {
    const source = sourceOf(pipeline);
    await carryOut(session, pipeline, async () => source.requests(session, partners, await plan(pipeline)));
  });
}

/** Those that have a past to fetch. Errors: `usage/no_past` when another one was named. */
export function backfillable(
  pipelines: readonly Pipeline[],
  names: readonly string[],
  { from, to }: DayRange,
): Pipeline[] {
  const other = pipelines.find(({ source }) => !source.isByRange);
  if (other && names.length > 0)
    throw new EtlError(
      'usage',
      'no_past',
      `${other.name} has no past to fetch: the service only tells what holds now`,
      {
        hint: `ask for what is due: partner-etl run ${other.name}; load stored answers again: partner-etl replay ${other.name} --from ${from} --to ${to}`,
      },
    );
  return pipelines.filter(({ source }) => source.isByRange);
}

/** Where calls are due and nothing is set to make them with, that is said before anything is begun. */
async function demandPartners(
  context: RunContext,
  pipelines: readonly Pipeline[],
  plans: () => Promise<readonly Plan[]>,
): Promise<void> {
  const lacking = new Map<Pipeline, unknown>();
  for (const pipeline of pipelines) {
    const { area } = pipeline.source;
    try {
      if (area) context.partnerSettings(area);
    } catch (error) {
      lacking.set(pipeline, error);
    }
  }
  if (lacking.size === 0) return;
  for (const { pipeline, calls } of await plans()) if (calls > 0 && lacking.has(pipeline)) throw lacking.get(pipeline);
}

/** Works through the pipelines. A refusal ends those of its area, a stop ends everything. */
function runPipelines(
  context: RunContext,
  command: string,
  pipelines: readonly Pipeline[],
  work: (session: Session, partners: Partners, pipeline: Pipeline) => Promise<void>,
  after: (session: Session) => Promise<void> = async () => undefined,
): Promise<RunOutcome> {
  const concerned = pipelines.flatMap((p) => [p, ...childrenOf(context.pipelines, p)]);
  const everything = async (session: Session) => {
    const partners = new Partners(session);
    // A check compares the three reports, so none of them is published without the others.
    const afterReports = pipelines.findLastIndex(({ source }) => source.isByRange) + 1;
    try {
      for (const [at, pipeline] of pipelines.entries()) {
        if (context.signal.aborted) return;
        if (at > 0 && at === afterReports)
          await publishWhatIsDone(session, pipelines.slice(0, at), pipelines.slice(at));
        const { area } = pipeline.source;
        if (area && partners.refused.has(area)) continue;
        const before = session.tally.errors.length;
        await spanning(context.tracer, 'pipeline', { pipeline: pipeline.name }, async (span) => {
          await work(session, partners, pipeline);
          span.fail(session.tally.errors[before]);
        });
        const errors = session.tally.errors.slice(before);
        if (errors.some(({ kind }) => kind === 'bug')) return;
        if (area && errors.some(({ kind }) => kind === 'refused')) partners.refused.add(area);
      }
    } finally {
      await partners.close();
    }
  };
  return runSession(context, command, concerned, everything, { targets: context.targets, afresh: false, after });
}
