/**
 * Answers of look-ups, and their questions, without the values that are erased. Places in a pack never change, and a masked entry has
 * another length: it is written behind all others, then the run's records name it, and then whatever no record names is taken out
 * of the pack. A kill in between leaves an entry that nobody names, which goes the next time.
 *
 * Records of a run are read by position (state/applied): their lines only grow, so that a position that is older than they are lies
 * before what was not taken in yet, and never behind it. To take in an answer twice changes nothing.
 */
import { createHash } from 'node:crypto';
import { appendFile, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { namesIn, syncFile, writeAtomic } from '../disk/atomic.ts';
import { recordIn, recordText } from '../extract/fetch-record.ts';
import { type MaskScope, maskJson } from '../extract/mask-text.ts';
import { entryHead } from '../extract/pack.ts';
import { entryOf, type PackPlace, packPlace, readEntry } from '../extract/pack-entry.ts';
import { dropUnnamed, prunedEntries } from '../extract/pack-marks.ts';
import { runRecords } from '../extract/run-records.ts';
import { damagedRecord } from '../extract/sidecar.ts';
import { recordsRewritten } from './applied.ts';
import { unreadable, type VaultErasure, type VaultWork } from './erase-vault.ts';
import { maskWords } from './erase-words.ts';

/** The answers of a pipeline that lie in packs. */
export async function maskPacks(work: VaultWork, scope: MaskScope): Promise<VaultErasure> {
  const hashes = new Map<string, string>();
  const errors: EtlError[] = [];
  let [answers, others] = [0, 0];
  const named = new Set<string>();
  for (const { runId, file, bytes } of await runRecords(work.context.paths.vault, work.pipeline))
    try {
      const run = await maskRun(work, scope, file);
      await recordsRewritten(work.context, work.pipeline, runId, { before: bytes, now: (await stat(file)).size });
      for (const pack of run.packs) named.add(pack);
      answers += run.masked.length;
      others += run.isCleaned ? 1 : 0;
      if (run.isDamaged) errors.push(unreadable(damagedRecord(file), file, work.pipeline));
      for (const { old, anew } of run.masked) hashes.set(old.sha256 ?? '', anew.sha256 ?? '');
    } catch (thrown) {
      errors.push(unreadable(thrown, file, work.pipeline));
    }
  if (errors.length === 0) others += await dropPacks(work, named);
  return { answers, others, hashes, errors };
}

/** Deletes packs that no record names. */
async function dropPacks({ context, pipeline, isDryRun }: VaultWork, named: ReadonlySet<string>): Promise<number> {
  const folder = path.join(context.paths.vault, pipeline, 'packs');
  let dropped = 0;
  for (const month of await namesIn(folder))
    for (const name of await namesIn(path.join(folder, month))) {
      const file = path.join(folder, month, name);
      if (named.has(path.relative(context.paths.root, file).replace(/\.pruned$/, ''))) continue;
      if (!isDryRun) await rm(file, { force: true });
      dropped += 1;
    }
  return dropped;
}

interface MaskedRecord {
  readonly old: FetchRecord;
  readonly anew: FetchRecord;
}

async function maskRun(work: VaultWork, scope: MaskScope, file: string) {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const packs = new Map<string, { offset: number; length: number }[]>();
  const masked: MaskedRecord[] = [];
  const told: string[] = [];
  let isDamaged = false;
  const readable = readableIn(work.context.paths.root);
  for (const line of lines) {
    const record = recordIn(line);
    isDamaged ||= record === null && isWhole(line);
    const anew = record && (await maskRecord(work, scope, record, readable));
    if (record && anew && anew.vault_path !== record.vault_path) masked.push({ old: record, anew });
    const stays = work.isDryRun ? record : anew;
    const place = stays?.vault_path ? packPlace(stays.vault_path) : null;
    if (place) packs.set(place.pack, [...(packs.get(place.pack) ?? []), place]);
    told.push(anew && JSON.stringify(anew) !== JSON.stringify(record) ? padded(recordText(anew, 'line'), line) : line);
  }
  if (work.isDryRun) return { masked, isCleaned: false, isDamaged, packs: packs.keys() };
  if (told.join('\n') !== lines.join('\n')) {
    await writeAtomic(file, told.join('\n'));
    await work.step(file);
  }
  let isCleaned = false;
  // What a damaged record names is not unnamed: the record may come back from a backup.
  for (const [pack, named] of isDamaged ? [] : packs) {
    const packFile = path.resolve(work.context.paths.root, pack);
    if (await isThere(packFile)) isCleaned = (await dropUnnamed(packFile, named)) || isCleaned;
  }
  return { masked, isCleaned, isDamaged, packs: packs.keys() };
}

/** Not torn by a power cut, which takes the end. */
function isWhole(line: string): boolean {
  return line.trimEnd().endsWith('}');
}

type Readable = (place: PackPlace) => Promise<boolean>;

/** Whether an entry is there: neither pruned nor torn off by a power cut. Marks of packs are read once. */
function readableIn(root: string): Readable {
  const marks = new Map<string, ReturnType<typeof prunedEntries>>();
  return async ({ pack, offset, length }) => {
    const file = path.resolve(root, pack);
    const size = await stat(file).then(
      (status) => status.size,
      () => 0,
    );
    const pruned = marks.get(pack) ?? prunedEntries(file);
    marks.set(pack, pruned);
    return offset + length <= size && !(await pruned).has(offset);
  };
}

/** The record with its answer masked and in its new place; itself where nothing is found. */
async function maskRecord(
  work: VaultWork,
  scope: MaskScope,
  record: FetchRecord,
  isReadable: Readable,
): Promise<FetchRecord> {
  const { context, erasures, masker, isDryRun, at } = work;
  const words = maskWords(erasures, record) as FetchRecord;
  const place = record.vault_path === null ? null : packPlace(record.vault_path);
  if (place === null || !(await isReadable(place))) return words;
  const file = path.resolve(context.paths.root, place.pack);
  const { asked, body } = entryOf(await readEntry(file, place), place);
  const fresh = Buffer.from(masker.mask(body));
  const question = JSON.stringify(asked) ?? 'null';
  const freshQuestion = maskJson(erasures, question, scope);
  if (fresh.equals(body) && freshQuestion === question) return words;
  const notes = { ...record.notes, erased_at: at };
  const sha256 = createHash('sha256').update(fresh).digest('hex');
  if (isDryRun) return { ...words, vault_path: `${record.vault_path} masked` };
  const vault_path = await append(file, place, JSON.parse(freshQuestion), fresh);
  await work.step(vault_path);
  return { ...words, sha256, bytes_decoded: fresh.length, vault_path, notes };
}

async function append(file: string, { pack, isGzip }: PackPlace, asked: unknown, body: Buffer): Promise<string> {
  const entry = Buffer.concat([entryHead(asked), isGzip ? gzipSync(body) : body]);
  const { size } = await stat(file);
  await appendFile(file, entry);
  await syncFile(file);
  return `${pack}@${size}+${entry.length}${isGzip ? '.gz' : ''}`;
}

/** At least as many bytes as the line before. */
function padded(line: string, before: string): string {
  return line + ' '.repeat(Math.max(0, Buffer.byteLength(before) - Buffer.byteLength(line)));
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
