/**
 * Segments that a receiver left open when it died, made ready.
 *
 * What a segment can look like then, given that a delivery is answered only after its bytes were synced:
 *
 * - Killed: the file ends in the middle of a frame, or between two. That frame was never answered: it is cut off. Whole frames
 *   behind the last sync were not answered either but stay: the message comes again, and stands once in the table.
 * - Power cut: only bytes behind the last sync can be missing, zero or torn, nothing of which was answered. But the file does
 *   not say where the last sync was, so this looks like
 * - a damaged disk: frames are torn that were answered, and sound ones may stand behind them.
 *
 * So a tail is cut off silently only where it can be nothing but the beginning of one frame. Anything else is kept beside the
 * segment as `<id>.torn` and told.
 */

import { createReadStream } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../core/log.ts';
import { namesIn, syncDir, writeAtomic } from '../disk/atomic.ts';
import { makeReady, openFolder, openSegments, readyFolder, type Segment } from './inbox-folder.ts';
import { FORMAT_LINE, isFrameLength, isRest, PREFIX_BYTES, soundFrames } from './inbox-segment.ts';

/** What the copy of a segment is called until it is made ready. */
export const COPY = '.copy';

export interface SealedOrphans {
  /** Segments that were made ready. */
  readonly sealed: number;
  /** Files with what was cut off them and might have been answered. */
  readonly torn: readonly string[];
}

/** Makes ready what a receiver left open. Only under its lock. To be interrupted and done again does no harm. */
export async function sealOrphans(folder: string, log?: Pick<Log, 'warn'>): Promise<SealedOrphans> {
  const torn: string[] = [];
  let sealed = 0;
  for (const segment of await openSegments(folder)) {
    const { frames, soundBytes, fault } = await examine(segment.file);
    if (fault !== null) {
      const kept = await keepTail(folder, segment, soundBytes);
      if (kept !== null) {
        torn.push(kept);
        log?.warn(`inbox segment ${segment.id}: delivery ${frames} is damaged, ${fault}; what follows is kept`, {
          file: kept,
          byte: soundBytes,
        });
      }
    }
    if (frames === 0) await rm(segment.file, { force: true });
    else {
      await cutTo(segment.file, soundBytes);
      await makeReady(folder, segment.id);
      sealed++;
    }
  }
  await removeCopies(openFolder(folder));
  return { sealed, torn };
}

async function examine(file: string): Promise<{ frames: number; soundBytes: number; fault: string | null }> {
  const found = soundFrames(createReadStream(file));
  for (let frames = 0; ; frames++) {
    const { done, value } = await found.next();
    if (done) return { frames, ...value };
  }
}

/** Puts what follows the sound bytes into a file; returns its name, or null where it was never answered. */
async function keepTail(folder: string, { id, file }: Segment, soundBytes: number): Promise<string | null> {
  const tail = await withFile(file, 'r', (handle) => readFrom(handle, soundBytes));
  const isUnanswered = soundBytes === 0 ? isBeginningOf(FORMAT_LINE, tail) : isBeginningOfFrame(tail);
  if (isUnanswered) return null;
  const kept = path.join(readyFolder(folder), `${id}.torn`);
  await writeAtomic(kept, tail);
  return kept;
}

function isBeginningOf(whole: Buffer, part: Buffer): boolean {
  return part.length < whole.length && whole.subarray(0, part.length).equals(part);
}

/** Whether the bytes, which are no whole frame, can be nothing but the first bytes of one. */
function isBeginningOfFrame(tail: Buffer): boolean {
  if (tail.length < PREFIX_BYTES) return true;
  const length = tail.readUInt32BE(0);
  if (!isFrameLength(length) || PREFIX_BYTES + length <= tail.length) return false;
  // A length that was damaged may claim more than there is: then the rest is whole, or whole frames stand further on.
  const rest = tail.subarray(PREFIX_BYTES);
  return !isRest(rest, tail.readUInt32BE(4)) && !mayHoldFrame(rest);
}

/** What every head begins with. */
const HEAD_START = '{"at":';
const HEAD_AT = PREFIX_BYTES + 4;
/** A body can be made to look like the beginnings of many large frames: no more than so many times the bytes are looked at. */
const MOST_LOOKS = 4;

/** Whether a whole frame stands somewhere in the bytes; also true where that takes too long to find out. */
function mayHoldFrame(bytes: Buffer): boolean {
  let left = MOST_LOOKS * bytes.length;
  for (let at = bytes.indexOf(HEAD_START); at >= 0; at = bytes.indexOf(HEAD_START, at + 1)) {
    const from = at - HEAD_AT;
    if (from < 0) continue;
    const length = bytes.readUInt32BE(from);
    const rest = bytes.subarray(from + PREFIX_BYTES, from + PREFIX_BYTES + length);
    if (!isFrameLength(length) || rest.length < length) continue;
    left -= length;
    if (left < 0 || isRest(rest, bytes.readUInt32BE(from + 4))) return true;
  }
  return false;
}

async function cutTo(file: string, bytes: number): Promise<void> {
  await withFile(file, 'r+', async (handle) => {
    if ((await handle.stat()).size > bytes) await handle.truncate(bytes);
    await handle.sync();
  });
}

async function readFrom(handle: FileHandle, from: number): Promise<Buffer> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(size - from);
  for (let at = 0; at < bytes.length; ) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) return bytes.subarray(0, at);
    at += bytesRead;
  }
  return bytes;
}

/** Copies that were not finished; their segments are still there. */
async function removeCopies(folder: string): Promise<void> {
  const copies = (await namesIn(folder)).filter((name) => name.endsWith(COPY));
  for (const name of copies) await rm(path.join(folder, name), { force: true });
  if (copies.length > 0) await syncDir(folder);
}

async function withFile<T>(file: string, flags: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, flags);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}
