/** Whether the raw store still holds the answers that slices stand on. */
import type { Day } from '../core/days.ts';
import { asEtlError } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import type { Vault } from '../extract/vault.ts';
import type { RunContext } from './context.ts';

export type AnswerState =
  | { readonly kind: 'sound' | 'pruned'; readonly fetch: FetchRecord }
  | { readonly kind: 'damaged'; readonly fetch: FetchRecord; readonly problem: string }
  /** Not even the record of the fetch is there. */
  | { readonly kind: 'missing'; readonly fetchId: string };

/** Reads every one of the answers, each once, oldest first; those without a record come last. */
export async function* answersBehind(
  vault: Vault,
  pipeline: Pipeline,
  fetchIds: Iterable<string>,
): AsyncGenerator<AnswerState> {
  const missing = new Set(fetchIds);
  if (missing.size === 0) return;
  for await (const fetch of vault.fetches(pipeline.name)) {
    if (!missing.delete(fetch.fetch_id)) continue;
    if (fetch.pruned_at !== undefined) yield { kind: 'pruned', fetch };
    else {
      const problem = await problemOf(vault, fetch);
      yield problem === null ? { kind: 'sound', fetch } : { kind: 'damaged', fetch, problem };
    }
  }
  for (const fetchId of missing) yield { kind: 'missing', fetchId };
}

async function problemOf(vault: Vault, fetch: FetchRecord): Promise<string | null> {
  try {
    for await (const _ of vault.answer(fetch, true));
    return null;
  } catch (thrown) {
    return asEtlError(thrown).message;
  }
}

/** What the raw store cannot give any more of a run's look-ups or lists. */
export interface LostAnswer {
  readonly fetch: FetchRecord;
  readonly problem: string;
}

/** Of gathered answers that no slice stands on: what they say may have been nothing new, or is nowhere yet. */
export async function lostBeside(
  { vault }: Pick<RunContext, 'vault'>,
  pipeline: Pipeline,
  needed: ReadonlyMap<string, unknown>,
): Promise<LostAnswer[]> {
  const lost: LostAnswer[] = [];
  for await (const fetch of vault.fetches(pipeline.name)) {
    if (needed.has(fetch.fetch_id) || fetch.pruned_at !== undefined || fetch.vault_path === null) continue;
    const problem = await problemOf(vault, fetch);
    if (problem !== null) lost.push({ fetch, problem });
  }
  return lost;
}

/** Those of the days whose slices stand on an answer that is damaged or lost, and that nobody pruned. */
export async function daysWithoutAnswer(
  { vault, lake }: Pick<RunContext, 'vault' | 'lake'>,
  pipeline: Pipeline,
  days: readonly Day[],
): Promise<ReadonlySet<Day>> {
  const slices = await lake.slices(pipeline.name);
  const behind = new Map(
    days.flatMap((day) => {
      const entry = slices.get(day);
      return entry ? [[day, entry.content.fetch_id] as const] : [];
    }),
  );
  const lost = new Set<string>();
  for await (const state of answersBehind(vault, pipeline, behind.values())) {
    if (state.kind === 'damaged') lost.add(state.fetch.fetch_id);
    if (state.kind === 'missing') lost.add(state.fetchId);
  }
  return new Set([...behind].flatMap(([day, fetchId]) => (lost.has(fetchId) ? [day] : [])));
}
