/** What a run is given: settings, time, places, and the stages it joins. Made and closed by app.ts. */
import { nearest } from '../config/near-miss.ts';
import type { EanSettings, RetentionSettings } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { type Day, dayAt } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import type { ShrinkGuard } from '../core/guard.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import type { Masking } from '../core/masking.ts';
import { isNamed, type Pipeline, parentName } from '../core/pipeline.ts';
import type { Progress } from '../core/progress.ts';
import type { BudgetWait, FetchRecord } from '../core/records.ts';
import type { Tracer } from '../core/tracer.ts';
import type { EngineSize } from '../engine/size.ts';
import type { OpenLake } from '../lake/delta/open-lake.ts';
import type { Lake } from '../lake/lake.ts';
import type { PartnerClient } from '../partner/client.ts';
import type { Area, Calls, PartnerSettings } from '../partner/settings.ts';
import type { Locks } from '../store/locks.ts';
import type { RawStore } from '../store/raw/raw.ts';
import type { State } from '../store/state.ts';
import type { Target } from '../warehouse/target.ts';

export interface RunContext {
  readonly paths: HomePaths;
  readonly timeZone: string;
  /** What DuckDB may use of the machine. */
  readonly engine: EngineSize;
  /** Today in the service's time zone, or the day that we pretend it is. */
  readonly today: Day;
  readonly guard: ShrinkGuard;
  readonly retention: RetentionSettings;
  readonly pipelines: readonly Pipeline[];
  /** Whether `run` takes the pipeline when none is named. */
  readonly isEnabled: (pipeline: Pipeline) => boolean;
  /** What the settings say of the pipelines, by name; see `settingsOf`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Calls that the pipelines declare; see `callOf`. */
  readonly calls: Calls;
  readonly eans: EanSettings;
  readonly targets: readonly Target[];
  readonly state: State;
  readonly locks: Locks;
  readonly raw: RawStore;
  readonly masking: Masking;
  readonly lake: Lake;
  /** null: `lake.delta` is false. */
  readonly openLake: OpenLake | null;
  /** The folder with DuckDB's extensions; null: DuckDB fetches them. */
  readonly extensions: string | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly progress: Progress;
  readonly tracer: Tracer;
  /** Aborted when the operator wants the run to end after the slice in hand. */
  readonly signal: AbortSignal;
  /** What calls into an area need. Errors: `usage/no_credentials`. */
  readonly partnerSettings: (area: Area) => PartnerSettings;
  /** Opens the way into an area of the service. Errors: `usage/no_credentials`. */
  readonly openClient: (area: Area, runId: string, onFetch: (record: FetchRecord) => Promise<void>) => Promise<Partner>;
  /** What calls of this process have waited for their turns so far, by endpoint. */
  readonly budgetWaits: () => Readonly<Record<string, BudgetWait>>;
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
  'published-early',
  'publishing',
  'published',
  'run-ended',
] as const;
export type Step = (typeof STEPS)[number];

/** The pipeline of that name. Errors: usage, with the names there are; a part is refused with the name of the whole. */
export function pipelineNamed(context: Pick<RunContext, 'pipelines'>, name: string): Pipeline {
  const found = context.pipelines.find((p) => p.name === name);
  if (found && isNamed(found)) return found;
  const whole = found ? parentName(found) : null;
  const names = context.pipelines.filter(isNamed).map((p) => p.name);
  const near = nearest(name, names);
  const guess = near === null ? '' : ` (did you mean ${near}?)`;
  const problem = whole ? `${name} comes with ${whole}` : `there is no pipeline "${name}"${guess}`;
  throw new EtlError('usage', 'no_pipeline', problem, {
    hint: whole ? `name ${whole} instead` : `choose from ${names.join(', ')}`,
  });
}

/** The service's day on which a fetch ended: of what is asked by no range, the day that it says something of. */
export function dayOfFetch({ timeZone }: Pick<RunContext, 'timeZone'>, { finished_at: at }: FetchRecord): Day {
  return dayAt(Date.parse(at), timeZone);
}

/** What the settings say of a pipeline; they were checked against its declaration, which says what T is. A mistake of ours for a child. */
export function settingsOf<T>(context: Pick<RunContext, 'settings'>, { name }: Pipeline): T {
  const found = context.settings[name];
  assert(found, `no settings for pipeline ${name}`);
  return found as T;
}
