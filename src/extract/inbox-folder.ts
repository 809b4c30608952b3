/**
 * The folders of the inbox, and what lies in them.
 *
 *   open/<id>.segment    the receiver writes it, or left it open when it died
 *   ready/<id>.segment   whole: the pipeline may take it in, and deletes it then
 *   ready/<id>.torn      what was cut off a segment and might have been answered: for a person to look at
 */
import { createReadStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../core/errors.ts';
import { namesIn, syncDir } from '../disk/atomic.ts';
import { soundFrames } from './inbox-segment.ts';
import { parsePushMessage } from './push-message.ts';

/** A segment; its id sorts by the time of its beginning, and is the id of the fetch that it becomes. */
export interface Segment {
  readonly id: string;
  readonly file: string;
  readonly bytes: number;
}

/** A segment with when it was last written to, as epoch milliseconds of the file system. */
interface TouchedSegment extends Segment {
  readonly touchedMs: number;
}

const SEGMENT = '.segment';
const SEGMENT_NAME = /^(f[0-9a-z]{1,30})\.segment$/;

export function openFolder(folder: string): string {
  return path.join(folder, 'open');
}

export function readyFolder(folder: string): string {
  return path.join(folder, 'ready');
}

export function openFile(folder: string, id: string): string {
  return path.join(openFolder(folder), `${id}${SEGMENT}`);
}

export function readyFile(folder: string, id: string): string {
  return path.join(readyFolder(folder), `${id}${SEGMENT}`);
}

/** Segments that are ready for the pipeline, oldest first. */
export async function sealedSegments(folder: string): Promise<Segment[]> {
  const segments = await segmentsIn(readyFolder(folder));
  return segments.map(({ id, file, bytes }) => ({ id, file, bytes }));
}

/** Segments that a receiver writes or has left open, oldest first. */
export function openSegments(folder: string): Promise<TouchedSegment[]> {
  return segmentsIn(openFolder(folder));
}

/** Makes an open segment ready, whichever file it is in; its bytes are synced. Errors: of the rename; then nothing has changed. */
export async function makeReady(folder: string, id: string, from = openFile(folder, id)): Promise<void> {
  await rename(from, readyFile(folder, id));
  // Were the rename forgotten in a power cut, the segment would lie in `open` again and be sealed once more: nothing hangs on it.
  await Promise.all([syncDir(readyFolder(folder)), syncDir(openFolder(folder))]).catch(() => undefined);
}

/** Of times of files: the kernel's clock for them lags some milliseconds behind, on some file systems two seconds. */
const FILE_TIME_MS = 2000;
const BACKSLASH = 0x5c;

/**
 * Whether a message about the resource with this id was received since the instant (epoch milliseconds) and still lies in the
 * inbox, also in the segment that is being written. Reads only segments that were touched since.
 */
export async function hasDelivery(
  folder: string,
  resource: string,
  resourceId: string,
  sinceMs: number,
): Promise<boolean> {
  const isWanted = (body: Buffer) => {
    // With an escape in it, it may mean what it does not contain.
    if (!body.includes(resourceId) && !body.includes(BACKSLASH)) return false;
    const message = messageIn(body);
    return message?.resource === resource && message.resourceId === resourceId;
  };
  // In this order: a segment that is made ready meanwhile is then found there.
  for (const place of [openFolder(folder), readyFolder(folder)])
    for (const { file, touchedMs } of await segmentsIn(place))
      if (touchedMs >= sinceMs - FILE_TIME_MS && (await holds(file, isWanted, sinceMs))) return true;
  return false;
}

async function holds(file: string, isWanted: (body: Buffer) => boolean, sinceMs: number): Promise<boolean> {
  try {
    // What is being written may be torn at its end; there the frames end.
    for await (const frame of soundFrames(createReadStream(file)))
      if (isWanted(frame.body) && (frame.delivery()?.receivedAtMs ?? 0) >= sinceMs) return true;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return false;
}

function messageIn(body: Buffer): { readonly resource: string; readonly resourceId: string } | null {
  try {
    return parsePushMessage(body);
  } catch (error) {
    if (error instanceof EtlError) return null;
    throw error;
  }
}

/** Oldest first; none where there is no such folder. */
async function segmentsIn(folder: string): Promise<TouchedSegment[]> {
  const found: TouchedSegment[] = [];
  for (const name of (await namesIn(folder)).sort()) {
    const id = SEGMENT_NAME.exec(name)?.[1];
    if (id === undefined) continue;
    const file = path.join(folder, name);
    const status = await stat(file).catch(whenMissing(null));
    // Somebody else may have renamed or deleted it since.
    if (status !== null) found.push({ id, file, bytes: status.size, touchedMs: status.mtimeMs });
  }
  return found;
}

function whenMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value;
    throw error;
  };
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
