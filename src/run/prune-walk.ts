/** The objects of a pipeline in the raw store, sorted into those that are needed and those that may go. An object may answer many requests. */
import { placeOf } from '../store/fetches.ts';
import type { PlacedObject } from '../store/places.ts';
import { rawPrefix } from '../store/raw.ts';
import type { RunContext } from './context.ts';
import type { Need, Needs } from './prune-needs.ts';

/** An object that may go. */
export interface Doomed {
  readonly pipeline: string;
  /** Its name, which is a path relative to the home directory. */
  readonly file: string;
  readonly answers: number;
  readonly bytes: number;
  /** When the newest request that it answers was finished, in epoch milliseconds. */
  readonly newestMs: number;
  /** None: no row names it. */
  readonly fetchIds: readonly string[];
}

export interface Walk {
  readonly pipeline: string;
  /** Of all stored answers. */
  readonly bytes: number;
  readonly free: readonly Doomed[];
  readonly needed: ReadonlyMap<Need, { readonly answers: number; readonly bytes: number }>;
  /** What a crash left: no row names it, but those that say it is gone. */
  readonly unnamed: readonly Doomed[];
}

/** What is known of an object by the rows that name it. */
interface Named {
  readonly fetchIds: string[];
  newestMs: number;
  need: Need | null;
}

export async function lookThrough({ vault }: RunContext, pipeline: string, needs: Needs): Promise<Walk> {
  const named = new Map<string, Named>();
  const pruned = new Set<string>();
  const unseen = needs.fetchIds();
  for await (const fetch of vault.fetches(pipeline)) {
    const { fetch_id: id, vault_path: at, pruned_at: prunedAt } = fetch;
    unseen.delete(id);
    if (at === null) continue;
    const { object } = placeOf(at);
    if (prunedAt !== undefined) {
      pruned.add(object);
      continue;
    }
    const known = named.get(object) ?? { fetchIds: [], newestMs: 0, need: null };
    named.set(object, known);
    known.fetchIds.push(id);
    known.newestMs = Math.max(known.newestMs, Date.parse(fetch.finished_at));
    known.need ??= needs.of(fetch);
  }
  // The record of an answer that is needed is missing: any answer may be the one.
  const isBlind = unseen.size > 0;
  const free: Doomed[] = [];
  const unnamed: Doomed[] = [];
  const needed = new Map<Need, { answers: number; bytes: number }>();
  let bytes = 0;
  for await (const found of storedObjects(vault.place, pipeline)) {
    const known = named.get(found.name);
    if (known) bytes += found.bytes;
    const need = known && (known.need ?? (isBlind ? 'current' : null));
    const doomed = { pipeline, file: found.name, bytes: found.bytes };
    if (!known) {
      // One that is marked was to be deleted by a run that was killed; any other may be of a run at work.
      const newestMs = pruned.has(found.name) ? 0 : found.atMs;
      if (!isBlind) unnamed.push({ ...doomed, answers: 0, newestMs, fetchIds: [] });
    } else if (need) {
      const sum = needed.get(need) ?? { answers: 0, bytes: 0 };
      needed.set(need, { answers: sum.answers + known.fetchIds.length, bytes: sum.bytes + found.bytes });
    } else free.push({ ...doomed, answers: known.fetchIds.length, newestMs: known.newestMs, fetchIds: known.fetchIds });
  }
  return { pipeline, bytes, free, needed, unnamed };
}

async function* storedObjects(place: RunContext['vault']['place'], pipeline: string): AsyncGenerator<PlacedObject> {
  yield* place.list(rawPrefix(pipeline, 'answers'));
  yield* place.list(rawPrefix(pipeline, 'gathered'));
}
