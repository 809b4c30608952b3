/** Answers of look-ups that the lake does not have yet: a run that was killed left them, a command wrote them, or they are held. */
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { markApplied, pendingFetches } from '../../store/fetches.ts';
import type { RunContext } from '../context.ts';

export interface Pending {
  /** Answers, in the order in which they came. */
  readonly fetches: readonly FetchRecord[];
  /** Notes that they are applied. To take an answer in twice changes nothing. */
  done(): Promise<void>;
}

export async function pendingAnswers({ state }: RunContext, { name }: Pipeline): Promise<Pending> {
  const fetches = await pendingFetches(state.db, name);
  const ids = fetches.map(({ fetch_id: id }) => id);
  return { fetches, done: () => markApplied(state, ids) };
}
