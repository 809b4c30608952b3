/** A request's body as bytes, whatever it calls itself, up to a size. */
import type { IncomingMessage } from 'node:http';

/** `too_large`: it grew above the limit; the rest was not read. `cut_off`: the connection ended before it. */
export type MessageBody = Buffer | 'too_large' | 'cut_off';

const NOTHING = Buffer.alloc(0);

/** Reads the body; a chunked one shows its size only while it grows. Calls `done` once. */
export function readBody(request: IncomingMessage, mostBytes: number, done: (body: MessageBody) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = () => {
    request.off('data', take);
    request.off('end', end);
    request.off('error', fail);
  };
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostBytes) {
      chunks.push(chunk);
      return;
    }
    stop();
    // Whatever still comes until the connection is closed is thrown away; an error of it concerns nobody.
    request.on('error', () => undefined);
    done('too_large');
  };
  const end = () => {
    stop();
    done(chunks.length === 1 ? chunks[0]! : chunks.length === 0 ? NOTHING : Buffer.concat(chunks, bytes));
  };
  const fail = () => {
    stop();
    done('cut_off');
  };
  request.on('data', take);
  request.on('end', end);
  request.on('error', fail);
}
