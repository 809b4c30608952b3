/**
 * Stored answers without the values that are erased. An answer is named by its content, so one that is masked gets another name: first
 * the new file is there, then every record names it, then the old file goes. A kill in between leaves both, or a file that no
 * record names; those go too, since nobody can read them any more and they may hold what was erased.
 */
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError, EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { moveIntoPlace, namesIn } from '../disk/atomic.ts';
import type { Erasures } from '../extract/erasures.ts';
import { bodyKindOf, holdsErased, maskInPlace, writeMasked } from '../extract/masked-file.ts';
import type { Masker } from '../extract/masker.ts';
import { packPlace } from '../extract/pack-entry.ts';
import { changeSidecar, damagedRecord, SIDECAR, sidecarFile } from '../extract/sidecar.ts';
import type { RunContext } from './context.ts';
import { maskWords } from './erase-words.ts';

export interface VaultWork {
  readonly context: RunContext;
  readonly erasures: Erasures;
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly masker: Masker;
  /** ISO 8601; stands in the records of what was masked. */
  readonly at: string;
  /** A file on the file system of the vault, for what is being written. */
  readonly scratch: string;
  readonly isDryRun: boolean;
  readonly step: (about: string) => void | Promise<void>;
}

export interface VaultErasure {
  readonly answers: number;
  /** Bodies that are no answers, and files that nothing names. */
  readonly others: number;
  /** sha256 of an answer before → after. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Of files that cannot be read; the others are done. */
  readonly errors: readonly EtlError[];
}

interface OwnRecord {
  readonly fetch: FetchRecord;
  readonly sidecar: string;
}

/** The answers of a pipeline that lie in files of their own. */
export async function maskAnswers(work: VaultWork): Promise<VaultErasure> {
  const { context, pipeline } = work;
  const hashes = new Map<string, string>();
  const errors: EtlError[] = [];
  let answers = 0;
  const { records, damaged } = await ownRecords(work);
  for (const file of damaged) errors.push(unreadable(damagedRecord(file), file, pipeline));
  for (const [place, named] of byPlace(records)) {
    try {
      const masked = await maskAnswer(work, place, named, damaged.length > 0);
      if (masked === null) continue;
      answers += 1;
      hashes.set(named[0]!.fetch.sha256 ?? '', masked.sha256);
    } catch (thrown) {
      errors.push(unreadable(thrown, path.resolve(context.paths.root, place), pipeline));
    }
  }
  if (!work.isDryRun) await maskRecords(work, records);
  // What a damaged record names is not unnamed: the record may come back from a backup, and then needs its answer.
  const dropped = damaged.length === 0 ? await dropUnnamed(work) : 0;
  const others = dropped + (await maskRefused(work));
  return { answers, others, hashes, errors };
}

/** The sidecars of a pipeline, and those that are damaged. */
async function ownRecords({ context, pipeline }: VaultWork): Promise<{ records: OwnRecord[]; damaged: string[] }> {
  const { vault, paths } = context;
  const records: OwnRecord[] = [];
  const damaged: string[] = [];
  const telling = vault.warning((_, { file } = {}) => {
    if (typeof file === 'string' && file.endsWith(SIDECAR)) damaged.push(file);
  });
  for await (const fetch of telling.fetches(pipeline)) {
    const sidecar = sidecarFile(paths.vault, pipeline, fetch.started_at, fetch.fetch_id);
    const isOwn = fetch.vault_path === null ? await isThere(sidecar) : packPlace(fetch.vault_path) === null;
    if (isOwn) records.push({ fetch, sidecar });
  }
  return { records, damaged };
}

function byPlace(records: readonly OwnRecord[]): Map<string, OwnRecord[]> {
  const found = new Map<string, OwnRecord[]>();
  for (const record of records) {
    const place = record.fetch.vault_path;
    if (place !== null) found.set(place, [...(found.get(place) ?? []), record]);
  }
  return found;
}

/** Null where the answer is gone, or nothing in it is erased. `isShared`: records that cannot be changed may name it too. */
async function maskAnswer(
  { context, masker, at, scratch, isDryRun, step }: VaultWork,
  place: string,
  named: readonly OwnRecord[],
  isShared: boolean,
): Promise<{ readonly sha256: string } | null> {
  const file = path.resolve(context.paths.root, place);
  const kind = bodyKindOf(file);
  if (!(await isThere(file)) || !(await holdsErased(file, kind, masker))) return null;
  if (isDryRun) return { sha256: '' };
  const { sha256, bytes } = await writeMasked(file, scratch, kind, masker);
  const anew = placeOf(place, sha256);
  await moveIntoPlace(scratch, path.resolve(context.paths.root, anew));
  await step(place);
  for (const { sidecar } of named) {
    await changeSidecar(sidecar, (record) => {
      const notes = { ...record.notes, erased_at: at };
      return { ...record, sha256, bytes_decoded: bytes, vault_path: anew, notes };
    });
    await step(sidecar);
  }
  if (anew !== place && !isShared) await rm(file, { force: true });
  return { sha256 };
}

/** `answers/<ab>/<sha256>.json.gz` under the name of other content. */
function placeOf(place: string, sha256: string): string {
  const endings = path.basename(place).slice(path.basename(place).indexOf('.'));
  return path.join(path.dirname(path.dirname(place)), sha256.slice(0, 2), `${sha256}${endings}`);
}

/** What records say in words. */
async function maskRecords({ erasures }: VaultWork, records: readonly OwnRecord[]): Promise<void> {
  for (const { fetch, sidecar } of records) {
    const { url, error_message } = fetch;
    if (JSON.stringify(maskWords(erasures, { url, error_message })) === JSON.stringify({ url, error_message }))
      continue;
    await changeSidecar(sidecar, (record) => maskWords(erasures, record) as FetchRecord);
  }
}

/** Deletes answers that no record names, and what a killed writer left beside its place. */
async function dropUnnamed(work: VaultWork): Promise<number> {
  const { context, pipeline, isDryRun } = work;
  const named = new Set((await ownRecords(work)).records.map(({ fetch }) => fetch.vault_path));
  const folder = path.join(context.paths.vault, pipeline);
  let dropped = 0;
  for (const place of ['answers', 'fetches'])
    for (const part of await namesIn(path.join(folder, place)))
      for (const name of await namesIn(path.join(folder, place, part)).catch(() => [])) {
        const file = path.join(folder, place, part, name);
        const isLost = place === 'answers' && !named.has(path.relative(context.paths.root, file));
        if (!isLost && !name.endsWith('.tmp')) continue;
        if (!isDryRun) await rm(file, { force: true });
        dropped += 1;
      }
  return dropped;
}

/** Bodies that were set aside; one that cannot be unpacked is of use to nobody, and goes. */
async function maskRefused({ context, pipeline, masker, scratch, isDryRun }: VaultWork): Promise<number> {
  const folder = path.join(context.paths.vault, pipeline, 'refused');
  let masked = 0;
  for (const name of await namesIn(folder)) {
    const file = path.join(folder, name);
    const kind = bodyKindOf(name);
    const holds = await holdsErased(file, kind, masker).catch(() => null);
    if (holds === false) continue;
    masked += 1;
    if (!isDryRun) await maskInPlace(file, scratch, kind, masker).catch(() => rm(file, { force: true }));
  }
  return masked;
}

export function unreadable(thrown: unknown, file: string, pipeline: string): EtlError {
  return new EtlError('failed', 'not_erased', `${file} cannot be looked through: ${asEtlError(thrown).code}`, {
    concern: { file, pipeline },
    hint: 'restore it from a backup or delete it',
  });
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
