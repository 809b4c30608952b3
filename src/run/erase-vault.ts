/**
 * Stored answers without the values that are erased. An answer is named by its content, so one that is masked gets another name: first
 * the new file is there, then every record names it, then the old file goes. A kill in between leaves both, or a file that no
 * record names; those go too, since nobody can read them any more and they may hold what was erased.
 */
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError, EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { moveIntoPlace, namesIn, writeJson } from '../disk/atomic.ts';
import type { Erasures } from '../extract/erasures.ts';
import { bodyKindOf, holdsErased, maskInPlace, writeMasked } from '../extract/masked-file.ts';
import type { Masker } from '../extract/masker.ts';
import { packPlace } from '../extract/pack-entry.ts';
import { sidecarFile } from '../extract/vault-pruning.ts';
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
  const records = await ownRecords(work);
  for (const [place, named] of byPlace(records)) {
    try {
      const masked = await maskAnswer(work, place, named);
      if (masked === null) continue;
      answers += 1;
      hashes.set(named[0]!.fetch.sha256 ?? '', masked.sha256);
    } catch (thrown) {
      errors.push(unreadable(thrown, path.resolve(context.paths.root, place), pipeline));
    }
  }
  if (!work.isDryRun) await maskRecords(work, records);
  const others = (await dropUnnamed(work)) + (await maskRefused(work));
  return { answers, others, hashes, errors };
}

async function ownRecords({ context, pipeline }: VaultWork): Promise<OwnRecord[]> {
  const { vault, paths } = context;
  const found: OwnRecord[] = [];
  for await (const fetch of vault.fetches(pipeline)) {
    const sidecar = sidecarFile(paths.vault, pipeline, fetch.started_at, fetch.fetch_id);
    const isOwn = fetch.vault_path === null ? await isThere(sidecar) : packPlace(fetch.vault_path) === null;
    if (isOwn) found.push({ fetch, sidecar });
  }
  return found;
}

function byPlace(records: readonly OwnRecord[]): Map<string, OwnRecord[]> {
  const found = new Map<string, OwnRecord[]>();
  for (const record of records) {
    const place = record.fetch.vault_path;
    if (place !== null) found.set(place, [...(found.get(place) ?? []), record]);
  }
  return found;
}

/** Null where the answer is gone, or nothing in it is erased. */
async function maskAnswer(
  { context, masker, at, scratch, isDryRun, step }: VaultWork,
  place: string,
  named: readonly OwnRecord[],
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
    const record = JSON.parse(await readFile(sidecar, 'utf8')) as FetchRecord;
    const notes = { ...record.notes, erased_at: at };
    await writeJson(sidecar, { ...record, sha256, bytes_decoded: bytes, vault_path: anew, notes });
    await step(sidecar);
  }
  if (anew !== place) await rm(file, { force: true });
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
    await writeJson(sidecar, maskWords(erasures, JSON.parse(await readFile(sidecar, 'utf8'))));
  }
}

/** Deletes answers that no record names, and what a killed writer left beside its place. */
async function dropUnnamed(work: VaultWork): Promise<number> {
  const { context, pipeline, isDryRun } = work;
  const named = new Set((await ownRecords(work)).map(({ fetch }) => fetch.vault_path));
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
    hint: 'restore it from a backup or delete it, then run the same command again',
  });
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
