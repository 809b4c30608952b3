/**
 * What the program knows of a pipeline's source: how it is planned, carried out, loaded again from what is stored, and shown. One
 * implementation a kind, in sources/; nothing else asks what kind a pipeline is of.
 */
import type { Day, DayRange } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { HeldSlice } from '../../core/slices.ts';
import type { Engine } from '../../engine/duckdb.ts';
import type { EndpointBudget, PartnerSettings } from '../../partner/settings.ts';
import type { RunContext } from '../context.ts';
import type { Partners } from '../partners.ts';
import type { Plan } from '../plan.ts';
import type { RunOutcome, Session } from '../session.ts';
import type { PipelineStatus } from '../status/status-days.ts';

export interface Source {
  /** What a night is to do. Calls nothing, changes nothing; `folder` is scratch space. */
  plan(context: RunContext, engine: Engine, pipeline: Pipeline, folder: string): Promise<Plan>;
  /** What paces its calls; null where it makes none. */
  budget(settings: PartnerSettings, pipeline: Pipeline): EndpointBudget | null;
  /** Plans, asks what is due, and brings what came into the lake. Errors are in the tally. */
  run(session: Session, partners: Partners, pipeline: Pipeline): Promise<void>;
  /** Loads stored responses again, those of these days. Errors: `usage/nothing_stored`, `failed/missing_answer`. */
  replay(context: RunContext, pipeline: Pipeline, replay: Replay): Promise<RunOutcome>;
  /** Applies what is held of a day, in spite of its guard. */
  release(session: Session, pipeline: Pipeline, held: HeldDay): Promise<void>;
  status(context: RunContext, pipeline: Pipeline): Promise<PipelineStatus>;
}

export interface Replay {
  /** The command, as the run's record has it. */
  readonly command: string;
  readonly range: DayRange;
  readonly isWanted: (day: Day) => boolean;
}

export interface HeldDay {
  readonly day: Day;
  readonly held: HeldSlice;
}
