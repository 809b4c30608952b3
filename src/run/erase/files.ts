/** Files that are neither answers nor slices: what waits in the inbox, what is remembered between runs. */
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { namesIn, writeAtomic } from '../../disk/atomic.ts';
import type { Erasures } from '../../extract/erasures.ts';
import { maskedDelivery } from '../../extract/masked-file.ts';
import type { Masker } from '../../extract/masker.ts';
import { parsePushMessage } from '../../extract/push-message.ts';
import { readCheckHolds, readReleased, writeCheckHolds, writeReleased } from '../../store/check-holds.ts';
import { lastDelivery, readInbox, replaceBody } from '../../store/inbox.ts';
import type { RunContext } from '../context.ts';
import { maskWords } from './words.ts';

export interface FileWork {
  readonly context: RunContext;
  readonly erasures: Erasures;
  /** Of messages. */
  readonly masker: Masker | null;
  readonly isDryRun: boolean;
}

/** Read from the inbox at once. */
const PAGE_ROWS = 200;

/** Messages that wait, and those that were refused. Returns how many. */
export async function maskInbox({ context, masker, isDryRun }: FileWork): Promise<number> {
  const { state, paths } = context;
  if (masker === null) return 0;
  const upTo = await lastDelivery(state.db);
  let [masked, after] = [0, null as string | null];
  while (upTo !== null) {
    const page = await readInbox(state.db, { after, upTo, limit: PAGE_ROWS });
    for (const delivery of page) {
      const anew = maskedDelivery(delivery, masker);
      if (anew === delivery) continue;
      masked += 1;
      const { resource, resourceId } = parsePushMessage(anew.body);
      if (!isDryRun) await replaceBody(state, { ...anew, resource, resourceId });
    }
    if (page.length === 0) break;
    after = page.at(-1)!.deliveryId;
  }
  return masked + (await maskSetAside(paths.inbox, masker, isDryRun));
}

/** Messages that were refused. Returns how many files. */
export async function maskSetAside(inbox: string, masker: Masker, isDryRun = false): Promise<number> {
  const refusals = path.join(inbox, 'refused');
  let files = 0;
  for (const name of await namesIn(refusals))
    files += await rewrite(path.join(refusals, name), isDryRun, (bytes) => maskRefused(bytes, masker));
  return files;
}

const refused = z.looseObject({
  detail: z.string().nullable(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  bodyBase64: z.string(),
});

/** A file of the receiver that is none of that shape is taken as text. */
function maskRefused(bytes: Buffer, masker: Masker): Uint8Array {
  const document = refused.safeParse(jsonIn(bytes.toString('utf8'))).data;
  if (!document) return masker.mask(bytes);
  const body = Buffer.from(document.bodyBase64, 'base64');
  const masked = Buffer.from(masker.mask(body));
  const detail = document.detail && masker.words(document.detail);
  const headers = document.headers.map(([name, value]) => [name, masker.words(value)]);
  if (masked.equals(body) && detail === document.detail && JSON.stringify(headers) === JSON.stringify(document.headers))
    return bytes;
  const told = { ...document, detail, headers, bodyBytes: masked.length, bodyBase64: masked.toString('base64') };
  return Buffer.from(`${JSON.stringify(told, null, 1)}\n`);
}

/** What is remembered between runs: names of contents that changed, words that cite values. */
export async function maskRecords(
  { context, erasures, isDryRun }: FileWork,
  names: ReadonlyMap<string, string>,
): Promise<number> {
  const { state } = context.paths;
  const isOwn = path.join(state, 'erasures');
  let files = 0;
  for (const file of (await jsonUnder(state)).filter((file) => !file.startsWith(isOwn)))
    files += await rewrite(file, isDryRun, (bytes) => maskRecord(bytes, erasures, names));
  return files;
}

function maskRecord(bytes: Buffer, erasures: Erasures, names: ReadonlyMap<string, string>): Uint8Array {
  const text = bytes.toString('utf8');
  const renamed = names.size === 0 ? text : text.replaceAll(/\b[0-9a-f]{32,64}\b/g, (name) => names.get(name) ?? name);
  const value = jsonIn(renamed);
  const masked = maskWords(erasures, value);
  if (JSON.stringify(masked) !== JSON.stringify(value)) return Buffer.from(`${JSON.stringify(masked, null, 1)}\n`);
  return renamed === text ? bytes : Buffer.from(renamed);
}

/** What checks hold, with the new names of slices. Returns for how many targets something changed. */
export async function maskCheckHolds(
  { context: { state, targets }, erasures, isDryRun }: FileWork,
  digests: ReadonlyMap<string, string>,
): Promise<number> {
  let changed = 0;
  for (const { name } of targets) {
    const before = await readCheckHolds(state.db, name);
    const after = before.map(({ target: _, digest, ...hold }) => ({ ...hold, digest: digests.get(digest) ?? digest }));
    const masked = maskWords(erasures, after) as typeof after;
    if (before.every((hold, i) => isDeepStrictEqual(hold, { target: name, ...masked[i] }))) continue;
    changed += 1;
    if (!isDryRun) await writeCheckHolds(state, name, masked);
  }
  return changed;
}

/**
 * A content that a person has released stays released under its new name; written before the lake has it, so that a kill in between
 * holds nothing back.
 */
export async function keepReleased({ state }: RunContext, digests: ReadonlyMap<string, string>): Promise<void> {
  const renamed = [...(await readReleased(state.db))].flatMap(([digest, at]) => {
    const anew = digests.get(digest);
    return anew === undefined ? [] : [[anew, at] as const];
  });
  await writeReleased(state, new Map(renamed));
}

/**
 * What killed processes left in the scratch space, a warehouse or state that was set aside because it is damaged, and backups of the
 * state, which the end of the run makes afresh. Our own folder stays.
 */
export async function dropLeftovers({ paths }: RunContext, own: string): Promise<void> {
  await rm(`${paths.warehouse}.damaged`, { force: true });
  await rm(paths.backups, { recursive: true, force: true });
  for (const name of await namesIn(paths.root))
    if (name.startsWith(`${path.basename(paths.database)}.damaged-`)) await rm(path.join(paths.root, name));
  for (const name of await namesIn(paths.work))
    if (path.join(paths.work, name) !== own && !isInUse(name))
      await rm(path.join(paths.work, name), { recursive: true, force: true });
}

/** Folders of readers are called after their process. */
function isInUse(name: string): boolean {
  const pid = Number(/^(?:duckdb-read|postgres)-(\d+)-/.exec(name)?.[1] ?? 0);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Replaces the file where `mask` makes other bytes of it, with the rights that it has; returns 1 where it does. */
async function rewrite(file: string, isDryRun: boolean, mask: (bytes: Buffer) => Uint8Array): Promise<number> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null; // whoever owns it has deleted it since
    throw error;
  });
  if (bytes === null) return 0;
  const masked = mask(bytes);
  if (masked === bytes) return 0;
  if (!isDryRun) await writeAtomic(file, masked, { mode: (await stat(file)).mode & 0o777 });
  return 1;
}

async function jsonUnder(folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const name of await namesIn(folder)) {
    const file = path.join(folder, name);
    if (name.endsWith('.json')) files.push(file);
    else if ((await stat(file).catch(() => null))?.isDirectory()) files.push(...(await jsonUnder(file)));
  }
  return files;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
