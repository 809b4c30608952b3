/**
 * Entries of packs that retention deletes. Places in a pack never change, since fetch records name them: a pack that loses some
 * entries is written again with holes where they were (a sparse file, so that the disk is free of them), and one that loses
 * all of them is deleted. Beside it stands what went, and when:
 *
 *   vault/<pipeline>/packs/<yyyy-mm>/<run_id>.pack.pruned     {batches: [{at, offsets}]}
 *
 * The mark is written first. Until the pack is replaced its batch counts for nothing, and the entries are there as before: a crash
 * in between is no lie, and the next pruning does it again. A hole that no mark names is damage.
 */
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { readIfThere, syncDir, writeJson } from '../disk/atomic.ts';

const shape = z.object({
  batches: z.array(z.object({ at: z.string(), offsets: z.array(z.int().nonnegative()).min(1) })),
});
type Batch = z.infer<typeof shape>['batches'][number];

/** The first bytes of an entry are the length of its questions, which is never 0. */
const HEAD_BYTES = 4;
const COPY_BYTES = 1024 * 1024;

export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** When each entry of the pack was pruned, by its offset; nothing where none was. `packFile` is absolute. */
export async function prunedEntries(packFile: string): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const { at, offsets } of await effectiveBatches(packFile)) for (const offset of offsets) found.set(offset, at);
  return found;
}

/**
 * Takes entries out of a pack; `kept` are all others that are needed. Whatever is in neither list goes too. `step` is told what
 * is about to be done.
 */
export async function punch(
  packFile: string,
  dropped: readonly number[],
  kept: readonly Extent[],
  at: string,
  step: (name: 'marking' | 'deleting') => void | Promise<void>,
): Promise<void> {
  const before = await effectiveBatches(packFile);
  await step('marking');
  await writeJson(markFile(packFile), { batches: [...before, { at, offsets: dropped }] });
  await step('deleting');
  if (kept.length === 0) await rm(packFile, { force: true });
  else await rewrite(packFile, kept);
  await syncDir(path.dirname(packFile));
}

/**
 * Takes out whatever lies in none of these extents: what a killed writer left, which no record names. Returns whether anything did.
 */
export async function dropUnnamed(packFile: string, named: readonly Extent[]): Promise<boolean> {
  if (!(await hasUnnamed(packFile, named))) return false;
  await rewrite(packFile, named);
  await syncDir(path.dirname(packFile));
  return true;
}

async function hasUnnamed(packFile: string, named: readonly Extent[]): Promise<boolean> {
  const handle = await open(packFile, 'r');
  try {
    const { size } = await handle.stat();
    let from = 0;
    for (const { offset, length } of [...named, { offset: size, length: 0 }].sort((a, b) => a.offset - b.offset)) {
      for (let at = from; at < offset; at += COPY_BYTES) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(COPY_BYTES, offset - at)), 0, null, at);
        if (buffer.subarray(0, bytesRead).some((byte) => byte !== 0)) return true;
      }
      from = Math.max(from, offset + length);
    }
    return false;
  } finally {
    await handle.close();
  }
}

function markFile(packFile: string): string {
  return `${packFile}.pruned`;
}

/** A pack is replaced by one rename, so the first entry of a batch speaks for all of it. */
async function effectiveBatches(packFile: string): Promise<Batch[]> {
  const text = await readIfThere(markFile(packFile));
  const batches = text === null ? [] : (shape.safeParse(parsed(text)).data?.batches ?? []);
  if (batches.length === 0) return [];
  const handle = await open(packFile, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (handle === null) return batches;
  try {
    const effective: Batch[] = [];
    for (const batch of batches) if (await isHole(handle, batch.offsets[0]!)) effective.push(batch);
    return effective;
  } finally {
    await handle.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function isHole(handle: FileHandle, offset: number): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, offset);
  return bytesRead === HEAD_BYTES && buffer.readUInt32BE(0) === 0;
}

async function rewrite(packFile: string, kept: readonly Extent[]): Promise<void> {
  const beside = `${packFile}.tmp`;
  await rm(beside, { force: true });
  const from = await open(packFile, 'r');
  const to = await open(beside, 'wx');
  try {
    for (const extent of kept) await copy(from, to, extent);
    await to.truncate((await stat(packFile)).size);
    await to.sync();
  } finally {
    await from.close();
    await to.close();
  }
  await rename(beside, packFile);
}

async function copy(from: FileHandle, to: FileHandle, { offset, length }: Extent): Promise<void> {
  const buffer = Buffer.alloc(Math.min(length, COPY_BYTES));
  for (let done = 0; done < length; ) {
    const { bytesRead } = await from.read(buffer, 0, Math.min(buffer.length, length - done), offset + done);
    if (bytesRead === 0) return; // torn before; it stays what it was
    for (let at = 0; at < bytesRead; )
      at += (await to.write(buffer, at, bytesRead - at, offset + done + at)).bytesWritten;
    done += bytesRead;
  }
}
