/**
 * An answer with its erased values replaced, in pieces that end where an item ends, so that of an item its order and its own id are
 * seen together. Memory: one item and one chunk. What holds none of the values passes byte for byte. An answer that is no
 * sound JSON is cut where an item could end, or at the latest when it gets too long for one.
 */
import { isUtf8 } from 'node:buffer';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { LIMITS } from '../../core/limits.ts';
import type { BodyKind, Masker } from '../../core/masking.ts';
import { moveIntoPlace } from '../../disk/atomic.ts';
import type { Erasures } from './erasures.ts';
import { type MaskScope, maskJson, maskText } from './mask-text.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const READ_BYTES = 1024 * 1024;
/** `{"items":[{…}` : an item ends where only these two are open. */
const AROUND_ITEMS = 2;

export class ErasureMasker implements Masker {
  private readonly erasures: Erasures;
  private readonly scope: MaskScope;
  /** Pieces in which something was replaced. */
  found = 0;

  constructor(erasures: Erasures, scope: MaskScope) {
    this.erasures = erasures;
    this.scope = scope;
  }

  /** Another one for another answer. */
  again(): ErasureMasker {
    return new ErasureMasker(this.erasures, this.scope);
  }

  /** The bytes with marks; themselves when nothing is found. Bytes that are no UTF-8 stay as they are. */
  mask(bytes: Uint8Array): Uint8Array {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const encoding = isUtf8(view) ? 'utf8' : 'latin1';
    const text = view.toString(encoding);
    const masked = maskJson(this.erasures, text, this.scope);
    if (masked === text) return bytes;
    this.found += 1;
    return Buffer.from(masked, encoding);
  }

  /** A text without structure. */
  words(text: string): string {
    return maskText(this.erasures, text, this.scope.kinds);
  }

  /** The answer's decoded bytes. What is handed on is not changed afterwards. */
  async *through(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const cuts = new Cuts();
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of source) {
      const end = cuts.lastIn(chunk);
      const isTooLong = rest.length + chunk.length > LIMITS.itemBytes;
      const cut = end > 0 ? end : isTooLong ? chunk.length : 0;
      if (cut > 0) yield this.mask(Buffer.concat([rest, chunk.subarray(0, cut)]));
      rest = cut > 0 ? Buffer.from(chunk.subarray(cut)) : Buffer.concat([rest, chunk]);
    }
    if (rest.length > 0) yield this.mask(rest);
  }

  async inPlace(file: string, scratch: string, kind: BodyKind): Promise<void> {
    if (!(await this.findsAny(file, kind))) return;
    try {
      // Not synced: it is to be moved into its place.
      const out = createWriteStream(scratch, { mode: 0o600 });
      const source = Readable.from(this.again().through(decodedFrom(file, kind)), { objectMode: false });
      if (kind === 'json') await pipeline(source, out);
      else await pipeline(source, createGzip(), out);
      await moveIntoPlace(scratch, file);
    } finally {
      await rm(scratch, { force: true });
    }
  }

  private async findsAny(file: string, kind: BodyKind): Promise<boolean> {
    const looking = this.again();
    for await (const _ of looking.through(decodedFrom(file, kind))) if (looking.found > 0) return true;
    return false;
  }
}

function decodedFrom(file: string, kind: BodyKind): AsyncIterable<Uint8Array> {
  const stored = createReadStream(file, { highWaterMark: READ_BYTES });
  if (kind === 'json') return stored;
  const decoded = createGunzip({ chunkSize: READ_BYTES });
  stored.on('error', (error) => decoded.destroy(error));
  decoded.on('close', () => stored.destroy());
  return stored.pipe(decoded);
}

/** Finds where items end, over chunks. */
class Cuts {
  private depth = 0;
  private isInString = false;
  private isEscaped = false;

  /** The place behind the last item that ends in the chunk; 0 where none does. */
  lastIn(chunk: Uint8Array): number {
    let last = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.isEscaped) this.isEscaped = false;
      else if (this.isInString) {
        if (byte === BACKSLASH) this.isEscaped = true;
        else if (byte === QUOTE) this.isInString = false;
      } else if (byte === QUOTE) this.isInString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.depth += 1;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.depth = Math.max(0, this.depth - 1);
        if (byte === CLOSE_BRACE && this.depth <= AROUND_ITEMS) last = at + 1;
      }
    }
    return last;
  }
}
