/** The objects of a pipeline in the raw store, sorted into those that are needed and those that may go. An object may answer many requests. */

import type { PlacedObject } from '../../store/raw/places.ts';
import { rawPrefix } from '../../store/raw/raw.ts';
import { fetchesByObject, knownFetches } from '../../store/tables/fetches.ts';
import type { RunContext } from '../context.ts';
import type { Need, Needs } from './needs.ts';

/** An object that may go. */
export interface Doomed {
  readonly pipeline: string;
  /** Its name, which is a path relative to the home directory. */
  readonly file: string;
  readonly answers: number;
  readonly bytes: number;
  /** When the newest request that it answers was finished, in epoch milliseconds. */
  readonly newestMs: number;
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

export async function lookThrough({ raw, state }: RunContext, pipeline: string, needs: Needs): Promise<Walk> {
  const ids = needs.fetchIds();
  // The record of an answer that is needed is missing: any answer may be the one.
  const isBlind = (await knownFetches(state.db, ids)).size < ids.size;
  const stored = new Map<string, PlacedObject>();
  for await (const found of storedObjects(raw.place, pipeline)) stored.set(found.name, found);
  const free: Doomed[] = [];
  const unnamed: Doomed[] = [];
  const needed = new Map<Need, { answers: number; bytes: number }>();
  let total = 0;
  for await (const { object: file, fetches } of fetchesByObject(state.db, pipeline)) {
    const there = fetches.filter(({ pruned_at: at }) => at === undefined);
    const found = stored.get(file);
    if (!found) continue;
    stored.delete(file);
    const { bytes } = found;
    // One that is marked was to be deleted by a run that was killed.
    if (there.length === 0) unnamed.push({ pipeline, file, answers: 0, bytes, newestMs: 0 });
    else {
      total += bytes;
      const need = there.map((fetch) => needs.of(fetch)).find((one) => one !== null) ?? (isBlind ? 'current' : null);
      const newestMs = Math.max(...there.map((fetch) => Date.parse(fetch.finished_at)));
      const sum = (need && needed.get(need)) || { answers: 0, bytes: 0 };
      if (need) needed.set(need, { answers: sum.answers + there.length, bytes: sum.bytes + bytes });
      else free.push({ pipeline, file, answers: there.length, bytes, newestMs });
    }
  }
  // Any other may be of a run at work.
  for (const { name, bytes, atMs } of isBlind ? [] : stored.values())
    unnamed.push({ pipeline, file: name, answers: 0, bytes, newestMs: atMs });
  return { pipeline, bytes: total, free, needed, unnamed };
}

async function* storedObjects(place: RunContext['raw']['place'], pipeline: string): AsyncGenerator<PlacedObject> {
  yield* place.list(rawPrefix(pipeline, 'answers'));
  yield* place.list(rawPrefix(pipeline, 'gathered'));
}
