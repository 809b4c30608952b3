/** How keys are found and asked, by where they come from. */
import { assert } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { callOf, type EndpointBudget, type PartnerSettings } from '../../partner/settings.ts';
import type { RunContext } from '../context.ts';
import { askFollowing } from '../following/following.ts';
import { planLinks, planProcesses } from '../following/plan.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { askEans } from './asking.ts';
import type { KeysPlan } from './keys-plan.ts';
import { planEans } from './lookup-plan.ts';

interface Asking<P extends KeysPlan = KeysPlan> {
  /** Calls nothing; `folder` is scratch space. */
  plan(context: RunContext, engine: Engine, pipeline: Pipeline, folder: string): Promise<P>;
  /** Answers lie in the raw store when this resolves. Errors are in the tally. */
  ask(session: Session, partners: Partners, plan: P): Promise<void>;
  budget(settings: PartnerSettings, pipeline: Pipeline): EndpointBudget;
  /** That the service knows many of them no longer is how it should be. */
  readonly isNeverHeld: boolean;
}

const EANS = asking({
  plan: planEans,
  ask: askEans,
  budget: ({ calls }, pipeline) => callOf(calls, pipeline).budget,
  isNeverHeld: false,
});

const FOLLOWED: Readonly<Record<'processes' | 'links', Asking>> = {
  processes: asking({
    plan: planProcesses,
    ask: askFollowing,
    budget: ({ retailer }) => retailer.processStatus.budget,
    isNeverHeld: true,
  }),
  links: asking({
    plan: planLinks,
    ask: askFollowing,
    budget: ({ retailer }) => retailer.processStatus.budget,
    isNeverHeld: false,
  }),
};

/** A plan is only ever handed to the way that made it. */
function asking<P extends KeysPlan>(one: Asking<P>): Asking {
  return one as unknown as Asking;
}

export function askingOf({ name, source }: Pipeline): Asking {
  assert(source.kind === 'keys', `${name} is not asked by keys`);
  return typeof source.keys === 'object' ? EANS : FOLLOWED[source.keys];
}
