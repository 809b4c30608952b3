/**
 * Small responses on their way into the raw store: with their requests they are gathered to objects of some thousand, since an object
 * and a transaction for each would cost more than the response itself.
 *
 *   <folder>/<yyyy-mm>/<fetch_id of its first response>.ndjson.gz      {"fetch":{…},"request":…,"body":"…"}, a line a response
 *
 * An object is written whole, and then the rows of its fetches, all in one transaction. So a crash loses at most the responses of the
 * object in hand: nothing names them, and they are asked again. The rows stand in the object too (null for a response whose record never
 * came): a state that was restored from a backup takes from there what it lacks.
 */
import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Clock, isoTime } from '../../core/clock.ts';
import { assert } from '../../core/errors.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { State } from '../state.ts';
import { insertFetches, pathOf, placeOf } from '../tables/fetches.ts';
import type { Place } from './places.ts';

/** Plain JSON; amounts in it are texts. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

interface Response {
  readonly request: JsonValue;
  /** Decoded. */
  readonly body: Uint8Array;
}

/** A response with its request and its record, as a line of an object. */
export interface GatheredResponse extends Response {
  readonly fetch: FetchRecord | null;
}

export const MOST_RESPONSES = 1000;
/** Of lines: what is read is held in memory, an object at a time. */
const MOST_BYTES = 8 * 1024 * 1024;
/** So much work a crash costs at the most: an object is not kept in hand for longer, however few calls the budget lets through. */
const LONGEST_MS = 10_000;
/** A stop for what is no object of ours: MOST_BYTES, and one response more, each byte of which may be an escape. */
const MOST_UNPACKED_BYTES = 128 * 1024 * 1024;

const LINE_FEED = 0x0a;
const packed = promisify(gzip);
const unpacked = promisify(gunzip);

interface InHand {
  readonly name: string;
  readonly beganMs: number;
  /** Each is all of a line but the record, which comes later. */
  readonly lines: string[];
  bytes: number;
  /** By the line. */
  readonly fetches: Map<number, FetchRecord>;
}

export interface GathererOptions {
  readonly state: State;
  readonly place: Place;
  readonly folder: string;
  readonly clock: Clock;
  /** Responses of an object. */
  readonly most: number;
}

export class Gatherer {
  private readonly options: GathererOptions;
  /** The last one takes what comes; the others are full, and wait for records. */
  private inHand: InHand[] = [];
  /** Without a response. */
  private failed: FetchRecord[] = [];
  private failedSinceMs = 0;
  private writing: Promise<void> = Promise.resolve();
  /** After the first error nothing is taken any more. */
  private failure: { readonly error: unknown } | null = null;
  private isClosed = false;

  constructor(options: GathererOptions) {
    this.options = options;
  }

  /** Takes a response; many at once, in any order. Returns its `raw_path`. Its record must follow. Errors: of an earlier write. */
  add({ fetchId, ...response }: Response & { readonly fetchId: string }): string {
    this.refuseWhenOver();
    const line = responseText(response);
    const object = this.objectFor(fetchId);
    object.lines.push(line);
    object.bytes += line.length;
    return pathOf(object.name, object.lines.length - 1);
  }

  /** Takes the record of a response that was added, or of a request that failed. Errors: of writing. */
  async record(fetch: FetchRecord): Promise<void> {
    this.refuseWhenOver();
    if (fetch.raw_path === null) {
      if (this.failed.length === 0) this.failedSinceMs = this.options.clock.now();
      this.failed.push(fetch);
    } else {
      const { object, line } = placeOf(fetch.raw_path);
      const found = this.inHand.find(({ name }) => name === object);
      assert(found, `nothing was gathered of fetch ${fetch.fetch_id}`);
      found.fetches.set(line ?? 0, fetch);
    }
    const isDue = this.inHand.some((one) => this.isReady(one));
    if (isDue || this.failed.length >= this.options.most || this.isOld(this.failed.length > 0, this.failedSinceMs))
      await this.write(false);
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.write(true);
  }

  private refuseWhenOver(): void {
    assert(!this.isClosed, `${this.options.folder} was written to after its end`);
    if (this.failure) throw this.failure.error;
  }

  private objectFor(fetchId: string): InHand {
    const last = this.inHand.at(-1);
    if (last && !this.isFull(last)) return last;
    const beganMs = this.options.clock.now();
    const month = isoTime(beganMs).slice(0, 7);
    const name = `${this.options.folder}/${month}/${fetchId}.ndjson.gz`;
    const fresh: InHand = { name, beganMs, lines: [], bytes: 0, fetches: new Map() };
    this.inHand.push(fresh);
    return fresh;
  }

  private isFull({ lines, bytes, beganMs }: InHand): boolean {
    return lines.length >= this.options.most || bytes >= MOST_BYTES || this.isOld(true, beganMs);
  }

  private isReady(one: InHand): boolean {
    return this.isFull(one) && one.fetches.size === one.lines.length;
  }

  private isOld(isThere: boolean, sinceMs: number): boolean {
    return isThere && this.options.clock.now() - sinceMs >= LONGEST_MS;
  }

  /** One write behind the other; who waits for one gets its error. */
  private write(isLast: boolean): Promise<void> {
    this.writing = this.writing.then(() => this.writeDue(isLast));
    return this.writing;
  }

  private async writeDue(isLast: boolean): Promise<void> {
    if (this.failure) throw this.failure.error;
    const isDue = (one: InHand) => isLast || this.isReady(one);
    const due = this.inHand.filter(isDue);
    this.inHand = this.inHand.filter((one) => !isDue(one));
    const failed = this.failed;
    this.failed = [];
    try {
      for (const { name, lines, fetches } of due) {
        if (fetches.size === 0) continue;
        const bytes = await gatheredBytes(lines.map((line, i) => lineText(fetches.get(i) ?? null, line)));
        await this.options.place.put(name, { bytes });
        await insertFetches(this.options.state, [...fetches.values()], true);
      }
      if (failed.length > 0) await insertFetches(this.options.state, failed, true);
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

/** An object of lines that end in a line feed each. */
export function gatheredBytes(lines: readonly string[]): Promise<Uint8Array> {
  return packed(lines.join(''), { level: 3 });
}

/** With its line feed. */
export function lineOf({ fetch, ...response }: GatheredResponse): string {
  return lineText(fetch, responseText(response));
}

function lineText(fetch: FetchRecord | null, response: string): string {
  return `{"fetch":${JSON.stringify(fetch)},${response.slice(1)}\n`;
}

function responseText({ request, body }: Response): string {
  const view = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = isUtf8(view) ? { body: view.toString('utf8') } : { base64: view.toString('base64') };
  return JSON.stringify({ request, ...text });
}

/** The lines of an object. Errors: of the place, and of what is no such object. */
export async function gatheredLines(place: Place, name: string): Promise<Buffer[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of place.get(name)) chunks.push(chunk);
  const bytes = await unpacked(Buffer.concat(chunks), { maxOutputLength: MOST_UNPACKED_BYTES });
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, from);
    lines.push(bytes.subarray(from, end < 0 ? bytes.length : end));
    from = end < 0 ? bytes.length : end + 1;
  }
  return lines;
}

/** A line taken apart. Throws when it is none of ours. */
export function responseIn(line: Uint8Array): GatheredResponse {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
  const { fetch, request, body, base64 } = JSON.parse(text) as Record<string, unknown>;
  if (typeof fetch !== 'object' || typeof (body ?? base64) !== 'string') throw new TypeError('no gathered response');
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(String(base64), 'base64');
  return { fetch: fetch as FetchRecord | null, request: request as JsonValue, body: bytes };
}
