/**
 * What the program knows of a pipeline's source: what it asks for and why, the responses to that, and how each becomes the lake's
 * content. One implementation a kind, in this folder; nothing else asks what kind a pipeline is of, and loop.ts does the rest.
 */
import type { Day, DayRange } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { ProgressBudget, ProgressUnit } from '../../core/progress.ts';
import type { HeldSlice } from '../../core/slices.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { EndpointBudget, PartnerSettings } from '../../partner/settings.ts';
import type { RunContext } from '../context.ts';
import type { VersionPlace } from '../merge/current.ts';
import type { Partners } from '../partners.ts';
import type { Plan } from '../plan.ts';
import type { Session } from '../session.ts';
import type { PipelineStatus } from '../status/status-days.ts';
import type { Applied } from '../tally.ts';

export interface Source<P extends Plan = Plan> {
  /** What a night is to ask for. Calls nothing, changes nothing; `folder` is scratch space. */
  plan(context: RunContext, engine: Engine, pipeline: Pipeline, folder: string): Promise<P>;
  /** The same of a past range: days never loaded, or all of them. Absent where the service only says what holds now. */
  planPast?(context: RunContext, pipeline: Pipeline, range: DayRange, isRefetch: boolean): Promise<P>;
  /** What paces its calls; null where it makes none. */
  budget(settings: PartnerSettings, pipeline: Pipeline): EndpointBudget | null;
  /** What an earlier run has stored and not applied; it comes before anything is planned. */
  pending(session: Session, pipeline: Pipeline): Promise<Requests | null>;
  /** What is planned, asked of the service. null: nothing. */
  requests(session: Session, partners: Partners, plan: P): Promise<Requests | null>;
  /** What the raw store has of these days. Errors: `usage/nothing_stored`, `failed/missing_answer`, `usage/pruned`. */
  stored(session: Session, pipeline: Pipeline, wanted: Wanted): Promise<Requests>;
  /** All that the raw store has, in the order of time, as a lake of its own takes it. Absent where no history is kept. Errors: as of `stored`. */
  history?(session: Session, pipeline: Pipeline): Promise<Requests>;
  /** What is held of a day, to be applied in spite of its guard. */
  held(session: Session, pipeline: Pipeline, held: HeldDay): Promise<Requests>;
  status(context: RunContext, pipeline: Pipeline): Promise<PipelineStatus>;
}

/** Requests, one after the other, and how the loop goes through them. */
export interface Requests {
  /** For progress; 0: nothing is shown of it. */
  readonly total: number;
  readonly unit: ProgressUnit;
  readonly budget?: ProgressBudget;
  readonly each: Iterable<Request> | AsyncIterable<Request>;
  /** The next one is fetched while one is applied: what it asks must not hang on that. */
  readonly isAhead?: boolean;
  /** So many may fail one after the other before the rest is given up. 1 when absent. */
  readonly failuresInARow?: number;
  /** Set where all slices from that day on are made afresh of these, and become the lake's in one commit. */
  readonly remadeFrom?: Day;
  /** Makes what they stand on, before the first of them. */
  readonly prepare?: (place: VersionPlace) => Promise<void>;
  /** Once all of it is in the lake. */
  readonly done?: () => Promise<void>;
}

export interface Request {
  /** The days that it is about, where it asks for days. */
  readonly range?: DayRange;
  /** What it asks lies in the raw store when this resolves. null: there is nothing to apply. `folder` is scratch space until it is. */
  fetch(folder: string): Promise<Response | null>;
}

export interface Response {
  /** Makes it the content of the lake, in one commit. */
  apply(into: Into): Promise<Applied>;
  /** What progress shows of it, with its rows. Absent where calls were shown one by one. */
  readonly shown?: { readonly from: string; readonly to: string; readonly units?: number };
}

/** Where a response is applied. */
export interface Into {
  readonly place: VersionPlace;
  /** Also what a guard would hold. */
  readonly isReleased: boolean;
}

/** Days that are loaded again from the raw store. */
export interface Wanted {
  readonly range: DayRange;
  readonly isWanted: (day: Day) => boolean;
}

export interface HeldDay {
  readonly day: Day;
  readonly held: HeldSlice;
}
