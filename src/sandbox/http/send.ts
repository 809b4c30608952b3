/** Answers on the wire: whole or spoilt, plain or as gzip, never faster than the reader. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { constants, createGzip, type Gzip, gzipSync } from 'node:zlib';
import type { DeliveryFault } from '../faults/kinds.ts';
import type { Answer } from './call.ts';
import { PIECE_BYTES } from './pieces.ts';

/** The fastest level: an answer of 520 MB must not wait for its compression. */
const GZIP_LEVEL = 1;
/** Shorter texts are not worth packing. */
const PACKED_FROM = 2048;
/** Pieces after which other calls get their turn, also when the reader keeps up. */
const PIECES_AT_ONCE = 16;

/** Waits until more may be written, or nobody reads any more. */
function drained(out: Writable, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      out.off('drain', done);
      response.off('close', done);
      resolve();
    };
    out.on('drain', done);
    response.on('close', done);
    if (response.destroyed) done();
  });
}

/** Writes the pieces, up to `bytes` of them. False when the reader went away. */
async function pump(
  pieces: Iterable<Buffer>,
  out: Writable,
  response: ServerResponse,
  bytes: number,
): Promise<boolean> {
  let left = bytes;
  let count = 0;
  for (const piece of pieces) {
    if (response.destroyed) return false;
    const part = piece.length > left ? piece.subarray(0, left) : piece;
    left -= part.length;
    if (!out.write(part)) await drained(out, response);
    else if (++count % PIECES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
    if (left <= 0) break;
  }
  return !response.destroyed;
}

function piecesOf(body: string | Iterable<Buffer> | undefined): Iterable<Buffer> {
  return typeof body === 'string' ? [Buffer.from(body)] : (body ?? []);
}

function compressed(response: ServerResponse): Gzip {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: PIECE_BYTES });
  gzip.pipe(response);
  response.once('close', () => gzip.destroy());
  return gzip;
}

/** What was written so far is on its way when this returns. */
async function flushed(out: Writable, response: ServerResponse): Promise<void> {
  if (out !== response) await new Promise<void>((resolve) => (out as Gzip).flush(constants.Z_SYNC_FLUSH, resolve));
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    response.once('close', resolve);
    response.write('', () => resolve());
  });
}

async function stream(
  response: ServerResponse,
  answer: Answer,
  gzip: boolean,
  fault: DeliveryFault | undefined,
): Promise<void> {
  response.writeHead(answer.status, { ...answer.headers, ...(gzip ? { 'content-encoding': 'gzip' } : {}) });
  const out = gzip ? compressed(response) : response;
  const bytes = fault !== undefined && 'bytes' in fault ? fault.bytes : Number.POSITIVE_INFINITY;
  if (!(await pump(piecesOf(answer.body), out, response, bytes))) return;
  if (fault?.kind === 'cut' || fault?.kind === 'stall') {
    await flushed(out, response);
    if (fault.kind === 'cut') response.destroy();
    else await once(response, 'close');
    return;
  }
  out.end();
  await new Promise<void>((resolve) => response.once('close', resolve));
}

/** The whole answer as gzip with a checksum that is not its own. */
function withBadChecksum(answer: Answer): Buffer {
  const bytes = gzipSync(Buffer.concat([...piecesOf(answer.body)]), { level: GZIP_LEVEL });
  const at = bytes.length - 8;
  bytes[at] = bytes[at]! ^ 0xff;
  return bytes;
}

/** A text goes out together with its head, in one system call. */
function sendWhole(response: ServerResponse, answer: Answer, body: Buffer | string, encoding: string | null): void {
  const headers = {
    ...answer.headers,
    ...(encoding === null ? {} : { 'content-encoding': encoding }),
    'content-length': String(Buffer.byteLength(body)),
  };
  response.writeHead(answer.status, headers).end(body);
}

/** Sends an answer, as gzip where `gzip` allows it and the body is long. Returns when it is sent or nobody reads. */
export async function send(
  response: ServerResponse,
  answer: Answer,
  gzip: boolean,
  fault: DeliveryFault | undefined,
): Promise<void> {
  if (fault?.kind === 'slow-headers') await delay(fault.delayMs, undefined, { ref: false });
  if (response.destroyed) return;
  if (fault?.kind === 'gzip-checksum' && gzip) {
    sendWhole(response, answer, withBadChecksum(answer), 'gzip');
    return;
  }
  if (gzip && fault === undefined && typeof answer.body === 'string' && answer.body.length >= PACKED_FROM) {
    sendWhole(response, answer, gzipSync(answer.body, { level: GZIP_LEVEL }), 'gzip');
    return;
  }
  const streamed = typeof answer.body === 'object';
  const spoilt = fault?.kind === 'cut' || fault?.kind === 'stall' || fault?.kind === 'truncate';
  if (streamed || spoilt) await stream(response, answer, gzip && streamed, fault);
  else sendWhole(response, answer, (answer.body as string | undefined) ?? '', null);
}
