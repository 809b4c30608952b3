/** What is neither an answer nor a slice: what waits in the inbox, what checks hold, what killed processes left. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Masker } from '../../core/masking.ts';
import { namesIn } from '../../disk/atomic.ts';
import { parsePushMessage } from '../../extract/push-message.ts';
import { maskedDelivery } from '../../extract/stored-deliveries.ts';
import type { RunContext } from '../../run/context.ts';
import { readCheckHolds, readReleased, writeCheckHolds, writeReleased } from '../../store/tables/check-holds.ts';
import { lastDelivery, readInbox, replaceBody } from '../../store/tables/inbox.ts';
import type { Erasures } from '../masking/erasures.ts';
import { maskSetAside } from '../masking/refused.ts';
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
