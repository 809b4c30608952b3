/** The answers of a pipeline, sorted into those that are needed and those that may go. An answer that many fetches brought is one. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { FetchRecord, PrunedFetch } from '../core/records.ts';
import { recordsOf } from '../extract/fetch-order.ts';
import { type PackPlace, packPlace } from '../extract/pack-entry.ts';
import type { Extent } from '../extract/pack-marks.ts';
import { sidecarFile } from '../extract/sidecar.ts';
import type { RunContext } from './context.ts';
import type { Need, Needs } from './prune-needs.ts';

/** A file of the vault, with what may go of it. */
export interface Doomed {
  readonly pipeline: string;
  /** Relative to the home directory. */
  readonly file: string;
  readonly answers: number;
  /** That become free. */
  readonly bytes: number;
  /** When the newest request that it answers was finished, in epoch milliseconds. */
  readonly newestMs: number;
  readonly fetchIds: readonly string[];
  /** Of an answer in a file of its own: the records that name it. */
  readonly sidecars: readonly string[];
  /** Of a pack: the offsets that go, and what is left. */
  readonly pack: { readonly dropped: readonly number[]; readonly kept: readonly Extent[] } | null;
}

export interface Walk {
  readonly pipeline: string;
  /** Of all stored answers. */
  readonly bytes: number;
  readonly free: readonly Doomed[];
  readonly needed: ReadonlyMap<Need, { readonly answers: number; readonly bytes: number }>;
  /** Pruned after `toldUntil`. */
  readonly untold: readonly PrunedFetch[];
}

interface OwnFile {
  readonly fetchIds: string[];
  readonly sidecars: string[];
  newestMs: number;
  need: Need | null;
}

interface Pack {
  readonly dropped: number[];
  readonly fetchIds: string[];
  readonly kept: Extent[];
  bytes: number;
  newestMs: number;
}

export async function lookThrough(
  context: RunContext,
  pipeline: string,
  needs: Needs,
  toldUntil: string,
): Promise<Walk> {
  const { vault, paths } = context;
  const files = new Map<string, OwnFile>();
  const packs = new Map<string, Pack>();
  const untold: PrunedFetch[] = [];
  const sums = new Sums();
  const unseen = needs.fetchIds();
  const damaged = new Set<string>();
  const telling = vault.telling((_, { request, file } = {}) => {
    if (request === undefined && typeof file === 'string') damaged.add(file);
  });
  for await (const fetch of telling.fetches(pipeline)) {
    const { fetch_id: id, vault_path: at, pruned_at: prunedAt } = fetch;
    unseen.delete(id);
    if (prunedAt !== undefined && prunedAt > toldUntil) untold.push({ fetch_id: id, pruned_at: prunedAt });
    if (at === null || prunedAt !== undefined) continue;
    const place = packPlace(at);
    if (place) addEntry(packs, sums, fetch, place, needs.of(fetch));
    else addFile(files, at, fetch, sidecarFile(paths.vault, pipeline, fetch.started_at, id), needs.of(fetch));
  }
  // The record of an answer that is needed is missing or damaged: any answer may be the one.
  const isBlind = unseen.size > 0;
  const free: Doomed[] = [];
  for (const [file, { need: known, ...own }] of files) {
    const need = known ?? (isBlind ? 'current' : null);
    // One that is not there is damage, which verify tells: it is no matter of retention.
    const bytes = await stat(path.resolve(paths.root, file))
      .then(({ size }) => size)
      .catch(() => null);
    if (bytes === null) continue;
    sums.add(need, bytes);
    if (need === null) free.push({ pipeline, file, answers: 1, bytes, ...own, pack: null });
  }
  for (const [file, { dropped, kept, fetchIds, bytes, newestMs }] of packs) {
    const isInDoubt = isBlind && damaged.has(path.resolve(paths.root, recordsOf(file)));
    if (isInDoubt) sums.keep('current', dropped.length, bytes);
    else if (dropped.length > 0)
      free.push({
        ...{ pipeline, file, answers: dropped.length, bytes, newestMs, fetchIds, sidecars: [] },
        pack: { dropped, kept },
      });
  }
  return { pipeline, bytes: sums.bytes, free, needed: sums.needed, untold };
}

class Sums {
  bytes = 0;
  readonly needed = new Map<Need, { answers: number; bytes: number }>();

  add(need: Need | null, bytes: number): void {
    this.bytes += bytes;
    if (need !== null) this.keep(need, 1, bytes);
  }

  /** Of what was added as needed by nothing. */
  keep(need: Need, answers: number, bytes: number): void {
    const sum = this.needed.get(need) ?? { answers: 0, bytes: 0 };
    this.needed.set(need, { answers: sum.answers + answers, bytes: sum.bytes + bytes });
  }
}

function addEntry(
  packs: Map<string, Pack>,
  sums: Sums,
  { fetch_id: id, finished_at: at }: FetchRecord,
  { pack: file, offset, length }: PackPlace,
  need: Need | null,
): void {
  const pack = packs.get(file) ?? { dropped: [], fetchIds: [], kept: [], bytes: 0, newestMs: 0 };
  packs.set(file, pack);
  pack.newestMs = Math.max(pack.newestMs, Date.parse(at));
  sums.add(need, length);
  if (need !== null) pack.kept.push({ offset, length });
  else {
    pack.dropped.push(offset);
    pack.fetchIds.push(id);
    pack.bytes += length;
  }
}

function addFile(
  files: Map<string, OwnFile>,
  name: string,
  { fetch_id: id, finished_at: at }: FetchRecord,
  sidecar: string,
  need: Need | null,
): void {
  const file = files.get(name) ?? { fetchIds: [], sidecars: [], newestMs: 0, need: null };
  files.set(name, file);
  file.fetchIds.push(id);
  file.sidecars.push(sidecar);
  file.newestMs = Math.max(file.newestMs, Date.parse(at));
  file.need ??= need;
}
