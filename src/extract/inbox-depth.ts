/**
 * How much waits in the inbox. Messages are counted by walking from length to length, each byte at most once however often it is
 * asked, since a segment only grows at its end; so the open one is counted too, while the receiver writes it.
 */
import { open } from 'node:fs/promises';
import { openSegments, type Segment, sealedSegments } from './inbox-folder.ts';
import { FORMAT_LINE, FRAME_BYTES, PREFIX_BYTES } from './inbox-segment.ts';

export interface Depth {
  readonly segments: number;
  readonly bytes: number;
  /** Of which the bytes were looked at so far: a large inbox takes some calls. */
  readonly messages: number;
}

const CHUNK_BYTES = 1024 * 1024;
/** Looked at in one call: some 50 ms. */
const MOST_BYTES = 64 * CHUNK_BYTES;

interface Walked {
  /** Where the next frame begins. */
  atByte: number;
  messages: number;
}

export class InboxDepth {
  private readonly folder: string;
  private walked = new Map<string, Walked>();

  /** `folder`: of the inbox. */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** One call at a time. */
  async read(): Promise<Depth> {
    // In this order: one that is made ready meanwhile is then in both, and counted once by its id.
    const segments = new Map<string, Segment>();
    for (const segment of [...(await openSegments(this.folder)), ...(await sealedSegments(this.folder))])
      segments.set(segment.id, segment);
    const walked = new Map<string, Walked>();
    let bytesLeft = MOST_BYTES;
    for (const segment of segments.values()) {
      const known = this.walked.get(segment.id) ?? { atByte: FORMAT_LINE.length, messages: 0 };
      walked.set(segment.id, known);
      if (bytesLeft > 0) bytesLeft -= await walk(segment, known, bytesLeft);
    }
    this.walked = walked;
    const all = [...segments.values()];
    return {
      segments: all.length,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      messages: [...walked.values()].reduce((sum, { messages }) => sum + messages, 0),
    };
  }
}

/** Goes on behind the last frame that was counted; returns how many bytes it looked at. */
async function walk({ file, bytes }: Segment, walked: Walked, mostBytes: number): Promise<number> {
  if (walked.atByte + PREFIX_BYTES > bytes) return 0;
  const handle = await open(file, 'r').catch(() => null); // it was taken in meanwhile
  if (handle === null) return 0;
  let looked = 0;
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    while (looked < mostBytes) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, walked.atByte);
      looked += bytesRead;
      if (!pass(chunk.subarray(0, bytesRead), walked, bytes)) break;
    }
  } finally {
    await handle.close();
  }
  return looked;
}

/** Counts the frames that begin in the chunk; false when there is no further one, or none that can be. */
function pass(chunk: Buffer, walked: Walked, endByte: number): boolean {
  const from = walked.atByte;
  for (let at = 0; at + PREFIX_BYTES <= chunk.length; at = walked.atByte - from) {
    const length = chunk.readUInt32BE(at);
    const next = walked.atByte + PREFIX_BYTES + length;
    if (length > FRAME_BYTES || next > endByte) return false;
    walked.atByte = next;
    walked.messages += 1;
  }
  return walked.atByte > from && walked.atByte + PREFIX_BYTES <= endByte;
}
