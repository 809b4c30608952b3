/** What a run is given: settings, time, places, and the stages it joins. Made and closed by app.ts. */
import type { Clock } from '../core/clock.ts';
import type { Day } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import type { ShrinkGuard } from '../core/guard.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { PlanSettings } from '../core/plan.ts';
import type { Progress } from '../core/progress.ts';
import type { FetchRecord } from '../core/records.ts';
import type { Vault } from '../extract/vault.ts';
import type { Lake } from '../lake/lake.ts';
import type { PartnerClient } from '../partner/client.ts';
import type { PartnerSettings } from '../partner/settings.ts';
import type { Target } from '../warehouse/target.ts';

export interface PipelineSettings extends PlanSettings {
  readonly enabled: boolean;
}

export interface RunContext {
  readonly paths: HomePaths;
  readonly timeZone: string;
  /** Today in the service's time zone, or the day that we pretend it is. */
  readonly today: Day;
  readonly guard: ShrinkGuard;
  readonly pipelines: readonly Pipeline[];
  readonly settings: ReadonlyMap<string, PipelineSettings>;
  readonly targets: readonly Target[];
  readonly vault: Vault;
  readonly lake: Lake;
  readonly clock: Clock;
  readonly log: Log;
  readonly progress: Progress;
  /** Aborted when the operator wants the run to end after the slice in hand. */
  readonly signal: AbortSignal;
  /** Whether everything is set that calls need. */
  readonly hasPartner: boolean;
  /** Refuses when what calls need is not set, before anything is begun. Errors: `usage/no_credentials`. */
  readonly demandPartner: () => void;
  /** Opens the way to the service. Errors: `usage/no_credentials`. */
  readonly openClient: (runId: string, onFetch: (record: FetchRecord) => Promise<void>) => Promise<Partner>;
  /** A step of a slice is about to be taken; a place for tests to stop the program. */
  readonly step: (name: Step, about: string) => void | Promise<void>;
}

export interface Partner {
  readonly client: PartnerClient;
  readonly settings: PartnerSettings;
}

/** The steps of a run between which it may die. */
export const STEPS = [
  'run-recorded',
  'answer-received',
  'normalised',
  'lake-committed',
  'checked-saved',
  'publishing',
  'published',
  'run-ended',
] as const;
export type Step = (typeof STEPS)[number];

/** The declared pipeline of that name. Errors: usage, with the names there are. */
export function pipelineNamed(context: Pick<RunContext, 'pipelines'>, name: string): Pipeline {
  const found = context.pipelines.find((p) => p.name === name);
  if (found) return found;
  throw new EtlError('usage', 'no_pipeline', `there is no pipeline "${name}"`, {
    hint: `choose from ${context.pipelines.map((p) => p.name).join(', ')}`,
  });
}

/** The settings of a pipeline; every declared pipeline has some. */
export function settingsOf(context: Pick<RunContext, 'settings'>, pipeline: Pipeline): PipelineSettings {
  const found = context.settings.get(pipeline.name);
  assert(found, `no settings for pipeline ${pipeline.name}`);
  return found;
}
