/**
 * The raw store: every response body as it was received, immutable.
 *
 *   raw/<pipeline>/answers/<ab>/<sha256>.json[.gz]     of a report, a file, messages: named by its decoded content; `.gz` as
 *                                                        it came with Content-Encoding gzip; .csv, .txt, .ndjson likewise
 *   raw/<pipeline>/gathered/<yyyy-mm>/<id>.ndjson.gz   of look-ups and lists, with their requests: see gather.ts
 *   raw/<pipeline>/refused/<fetch_id>.json[.gz]        a body that is no answer, as far as it was read, for a person to look at
 *
 * An object counts once a row of the state's table `fetch` names it, which is written after it; retention marks the rows before it
 * deletes the object. So what no row names is what a crash left, and may go.
 */
import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { earliestId } from '../../core/ids.ts';
import type { Masker, Masking } from '../../core/masking.ts';
import { prunedWords } from '../../core/pruned.ts';
import type { FetchRecord } from '../../core/records.ts';
import { FileSink } from '../../disk/sink.ts';
import type { State } from '../state.ts';
import { fetchesFrom, fetchesWith, placeOf, putFetch } from '../tables/fetches.ts';
import { type GatheredResponse, Gatherer, gatheredLines, MOST_RESPONSES, responseIn } from './gather.ts';
import type { Place } from './places.ts';

const READ_BYTES = 1024 * 1024;
/** Objects of gathered responses that are kept in memory: calls in flight at once may end in two of them. */
const OBJECTS_KEPT = 2;

/** Said in words, with fields for a line of the log. */
export type Warn = (message: string, fields?: Record<string, unknown>) => void;

/** The response of a look-up with its request. */
export interface StoredAnswer {
  readonly fetch: FetchRecord;
  readonly asked: unknown;
  /** Decoded. */
  readonly body: Buffer;
}

export interface RawStoreOptions {
  readonly state: State;
  readonly place: Place;
  readonly warn?: Warn;
  /** Absent where nothing can have been erased. */
  readonly masking?: Masking;
}

export class RawStore {
  private readonly options: RawStoreOptions;
  private readonly objects = new Map<string, Promise<Buffer[]>>();

  constructor(options: RawStoreOptions) {
    this.options = options;
  }

  /**
   * What replaces erased values in an answer of the pipeline before anybody else sees it; null while nothing is erased that could
   * stand there. So what the service sends again comes no further than the scratch folder of the run, and no stage has to know.
   */
  async masker(pipeline: string): Promise<Masker | null> {
    return (await this.options.masking?.masker(pipeline)) ?? null;
  }

  /** The same with another way to warn. */
  warning(warn: Warn): RawStore {
    return new RawStore({ ...this.options, warn });
  }

  get place(): Place {
    return this.options.place;
  }

  /** Opens a body for writing; `scratch` is a file on the file system of the home, `extension` what the object's name ends in. */
  async receive(pipeline: string, scratch: string, extension = 'json'): Promise<RawBody> {
    await mkdir(path.dirname(scratch), { recursive: true });
    const sink = await FileSink.open(scratch, { isKept: true });
    return new RawBody({ place: this.place, pipeline, scratch, extension, sink });
  }

  /** Writes the row of a fetch whose body, if it has one, is in its place. */
  record(fetch: FetchRecord): Promise<void> {
    return putFetch(this.options.state, fetch);
  }

  /** Gathers the responses of look-ups, so many to an object. */
  gather(pipeline: string, clock: Clock, most = MOST_RESPONSES): Gatherer {
    const { state, place } = this.options;
    return new Gatherer({ state, place, folder: `${ROOT}/${pipeline}/gathered`, clock, most });
  }

  /** Sets a body aside that is no answer, for a person to look at; returns what people call it. */
  async setAside(pipeline: string, fetchId: string, bytes: Uint8Array, isGzip: boolean): Promise<string> {
    const name = refusedName(pipeline, fetchId, isGzip);
    await this.place.put(name, { bytes });
    return this.place.called(name);
  }

  /** Fetches of a pipeline, oldest first, that were begun since (ISO 8601: a month, a day or an instant in UTC; '' for all). */
  fetches(pipeline: string, since = ''): AsyncGenerator<FetchRecord> {
    const sinceMs = Date.parse(since);
    return fetchesFrom(this.options.state.db, {
      pipeline,
      ...(Number.isNaN(sinceMs) ? {} : { from: earliestId('f', sinceMs) }),
    });
  }

  /** Fetches of these ids, as far as there are records of them, oldest first. */
  fetchesWith(ids: Iterable<string>): AsyncGenerator<FetchRecord> {
    return fetchesWith(this.options.state.db, ids);
  }

  /**
   * The gathered responses of the fetches that have one, in the same order. Each is proved by its sha256; what is damaged or missing is
   * left out with a warning that names the object.
   */
  async *readAnswers(fetches: AsyncIterable<FetchRecord> | Iterable<FetchRecord>): AsyncGenerator<StoredAnswer> {
    for await (const fetch of fetches) {
      if (fetch.raw_path === null || placeOf(fetch.raw_path).line === null) continue;
      try {
        const { request, body } = await this.gathered(fetch, true);
        yield { fetch, asked: request, body };
      } catch (thrown) {
        if (!(thrown instanceof EtlError) || !(thrown.code === 'damaged_answer' || thrown.code === 'pruned_answer'))
          throw thrown;
        const { pipeline, fetch_id: request } = fetch;
        const { file } = thrown.concern;
        this.options.warn?.(`${thrown.message}, which is left out`, {
          ...{ pipeline, request },
          ...(file === undefined ? {} : { file }),
        });
      }
    }
  }

  /**
   * The decoded bytes of a stored response. With `verify` the whole is checked against its sha256 as it passes.
   * Errors: `failed/damaged_answer` naming the object, `failed/pruned_answer`.
   */
  async *answer(fetch: FetchRecord, verify = false): AsyncGenerator<Uint8Array> {
    const { object, line } = storedPlace(fetch);
    if (line !== null) {
      yield (await this.gathered(fetch, verify)).body;
      return;
    }
    const hash = createHash('sha256');
    try {
      for await (const chunk of this.decoded(object)) {
        if (verify) hash.update(chunk);
        yield chunk;
      }
    } catch (cause) {
      throw this.damaged(fetch, cause);
    }
    if (verify && hash.digest('hex') !== fetch.sha256) throw this.damaged(fetch, undefined);
  }

  /** The bytes of an object that is one body, unpacked. Errors: of the place, and of what does not unpack. */
  async *decoded(object: string): AsyncGenerator<Uint8Array> {
    const stored = this.place.get(object);
    if (!object.endsWith('.gz')) {
      yield* stored;
      return;
    }
    const packed = Readable.from(stored, { objectMode: false });
    const unpacking = createGunzip({ chunkSize: READ_BYTES });
    packed.on('error', (error) => unpacking.destroy(error));
    try {
      yield* packed.pipe(unpacking) as AsyncIterable<Uint8Array>;
    } finally {
      packed.destroy();
    }
  }

  private async gathered(fetch: FetchRecord, verify: boolean): Promise<GatheredResponse & { readonly body: Buffer }> {
    const { object, line } = storedPlace(fetch);
    try {
      const lines = await this.linesOf(object);
      const response = responseIn(lines[line ?? lines.length] ?? Buffer.alloc(0));
      const body = Buffer.from(response.body);
      const isSound = !verify || createHash('sha256').update(body).digest('hex') === fetch.sha256;
      if (isSound && response.fetch?.fetch_id === fetch.fetch_id) return { ...response, body };
    } catch (cause) {
      throw this.damaged(fetch, cause);
    }
    throw this.damaged(fetch, undefined);
  }

  private linesOf(object: string): Promise<Buffer[]> {
    const known = this.objects.get(object) ?? gatheredLines(this.place, object);
    this.objects.delete(object);
    this.objects.set(object, known); // the newest is the last
    if (this.objects.size > OBJECTS_KEPT) this.objects.delete([...this.objects.keys()][0]!);
    return known;
  }

  private damaged(fetch: FetchRecord, cause: unknown): EtlError {
    const file = this.place.called(placeOf(fetch.raw_path ?? '').object);
    return new EtlError('failed', 'damaged_answer', `${file} does not hold the answer of fetch ${fetch.fetch_id}`, {
      cause,
      concern: { file, pipeline: fetch.pipeline, requestId: fetch.fetch_id },
      hint: `fetch it again: partner-etl ${againWith(fetch)}`,
    });
  }
}

const ROOT = 'raw';

interface RawBodyOptions {
  readonly place: Place;
  readonly pipeline: string;
  readonly scratch: string;
  readonly extension: string;
  readonly sink: FileSink;
}

/** A body on its way into the raw store. Ends with `keep`, `refuse` or `discard`. */
export class RawBody {
  private readonly options: RawBodyOptions;

  constructor(options: RawBodyOptions) {
    this.options = options;
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.options.sink.write(chunk);
  }

  /** Changes the file in which the body lies so far, once it is whole. To be called before `keep` or `refuse`. */
  async rewrite(work: (scratch: string) => Promise<unknown>): Promise<void> {
    await this.options.sink.close();
    await work(this.options.scratch);
  }

  /** Puts the body into its place; returns the object's name. */
  async keep(sha256: string, isGzip: boolean): Promise<string> {
    const { pipeline, extension } = this.options;
    return this.put(`${ROOT}/${pipeline}/answers/${sha256.slice(0, 2)}/${sha256}.${extension}${isGzip ? '.gz' : ''}`);
  }

  /** Sets the body aside for a person to look at; returns what people call it. */
  async refuse(fetchId: string, isGzip: boolean): Promise<string> {
    return this.options.place.called(await this.put(refusedName(this.options.pipeline, fetchId, isGzip)));
  }

  async discard(): Promise<void> {
    await this.options.sink.close();
    await rm(this.options.scratch, { force: true });
  }

  private async put(name: string): Promise<string> {
    const { place, scratch, sink } = this.options;
    await sink.close();
    await place.put(name, { file: scratch });
    await rm(scratch, { force: true });
    return name;
  }
}

/** The objects of a pipeline in the raw store begin so. */
export function rawPrefix(pipeline: string, kind: 'answers' | 'gathered' | 'refused'): string {
  return `${ROOT}/${pipeline}/${kind}/`;
}

function refusedName(pipeline: string, fetchId: string, isGzip: boolean): string {
  return `${rawPrefix(pipeline, 'refused')}${fetchId}.json${isGzip ? '.gz' : ''}`;
}

/** Errors: `failed/pruned_answer`. */
function storedPlace(fetch: FetchRecord): ReturnType<typeof placeOf> {
  const { fetch_id: id, raw_path, pruned_at: at } = fetch;
  if (at !== undefined)
    throw new EtlError('failed', 'pruned_answer', `the answer of fetch ${id}: ${prunedWords(at)}`, {
      concern: { pipeline: fetch.pipeline, requestId: id },
      hint: `fetch it again: partner-etl ${againWith(fetch)}`,
    });
  if (raw_path === null) throw new EtlError('bug', 'no_answer', `fetch ${id} has no stored answer`);
  return placeOf(raw_path);
}

/** What a look-up lost is asked again when it is due, or from a list of those EANs. */
function againWith({ pipeline, window_from: from, window_to: to }: FetchRecord): string {
  return from === null ? `run ${pipeline}` : `backfill ${pipeline} --from ${from} --to ${to} --refetch`;
}
