/**
 * The raw vault: every answer as it was received, immutable, named by its content.
 *
 *   vault/<pipeline>/answers/<ab>/<sha256>.json[.gz]     the body; `.gz` when it came with Content-Encoding gzip; .csv and .txt likewise
 *   vault/<pipeline>/fetches/<yyyy-mm>/<fetch_id>.json   the sidecar: the fetch record with its checksum, also of a request that failed
 *   vault/<pipeline>/packs/…, fetches/<yyyy-mm>/<run_id>.ndjson   both for look-ups, whose answers are small and many: see pack.ts
 *   (answers and packs may be gone by retention: see vault-pruning.ts, pack-marks.ts)
 *   vault/<pipeline>/refused/<fetch_id>.json[.gz]        a body that is no report, as far as it was read, for a person to look at
 *
 * The name is the sha256 of the decoded body, so an answer that did not change is stored once, however it was compressed.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip } from 'node:zlib';
import { EtlError } from '../core/errors.ts';
import { bornMs } from '../core/ids.ts';
import { prunedWords } from '../core/pruned.ts';
import type { FetchRecord } from '../core/records.ts';
import { moveIntoPlace, namesIn, writeAtomic } from '../disk/atomic.ts';
import { FileSink } from '../disk/sink.ts';
import { Erasures } from './erasures.ts';
import { fetchesOf, RUN_RECORDS, recordsOf } from './fetch-order.ts';
import type { MaskScope } from './mask-text.ts';
import { type BodyKind, maskInPlace } from './masked-file.ts';
import { Masker } from './masker.ts';
import {
  entryOf,
  isBodyOf,
  type PackEntry,
  type PackFiles,
  type PackPlace,
  PlacedGroup,
  packPlace,
  readEntry,
} from './pack-entry.ts';
import { prunedEntries } from './pack-marks.ts';
import { runRecords } from './run-records.ts';
import { sidecarFile, writeSidecar } from './sidecar.ts';

const READ_BYTES = 1024 * 1024;

/** Told in words, with fields for a line of the log. */
type Warn = (message: string, fields?: Record<string, unknown>) => void;

/** The answer of a look-up with its questions, as it lies in a pack. */
export interface StoredAnswer extends PackEntry {
  readonly fetch: FetchRecord;
}

/** How what was erased is kept out: where the list of it lies, and what is looked for in the answers of each pipeline. */
export interface Masking {
  readonly stateDir: string;
  readonly scopes: ReadonlyMap<string, MaskScope>;
}

export class Vault {
  private readonly home: string;
  private readonly root: string;
  private readonly warn: Warn;
  private readonly masking: Masking | null;
  private erasures: Promise<Erasures> | null = null;

  /**
   * `home` is the home directory, to which paths in fetch records are relative; `root` the vault in it. `warn` is told what a
   * power cut has torn and is therefore left out. `masking`: null where nothing can have been erased.
   */
  constructor(home: string, root: string, warn: Warn = () => undefined, masking: Masking | null = null) {
    this.home = home;
    this.root = root;
    this.warn = warn;
    this.masking = masking;
  }

  /**
   * What replaces erased values in an answer of the pipeline before anybody else sees it; null while nothing is erased that could
   * stand there. So what the service sends again comes no further than the scratch folder of the run, and no stage has to know.
   * Errors: `failed/damaged_erasures`.
   */
  async masker(pipeline: string): Promise<Masker | null> {
    const scope = this.masking?.scopes.get(pipeline);
    if (!this.masking || !scope) return null;
    this.erasures ??= Erasures.read(this.masking.stateDir);
    const erasures = await this.erasures;
    return erasures.isEmpty ? null : new Masker(erasures, scope);
  }

  /** The same vault, which tells somebody else. */
  warning(warn: Warn): Vault {
    return new Vault(this.home, this.root, warn, this.masking);
  }

  /** The same vault, which tells somebody else as well. */
  telling(other: Warn): Vault {
    return this.warning((message, fields) => {
      this.warn(message, fields);
      other(message, fields);
    });
  }

  /** Opens a body for writing; `scratch` is a file on the same file system, `extension` what the stored file's name ends in. */
  async receive(pipeline: string, scratch: string, extension = 'json'): Promise<VaultBody> {
    await mkdir(path.dirname(scratch), { recursive: true });
    const place = async (sha256: string, isGzip: boolean): Promise<string> => {
      const plain = path.join(this.root, pipeline, 'answers', sha256.slice(0, 2), `${sha256}.${extension}`);
      const [name, other] = isGzip ? [`${plain}.gz`, plain] : [plain, `${plain}.gz`];
      if ((await isThere(other)) && !(await isThere(name))) return path.relative(this.home, other);
      // Also over one of that name: it holds the same, or is damaged and asked for again to be mended.
      await moveIntoPlace(scratch, name);
      return path.relative(this.home, name);
    };
    const refuse = (name: string) => path.join(this.root, pipeline, 'refused', name);
    return new VaultBody(await FileSink.open(scratch, { isKept: true }), scratch, place, refuse);
  }

  /** Writes the sidecar of a fetch. */
  async record(fetch: FetchRecord): Promise<void> {
    await writeSidecar(sidecarFile(this.root, fetch.pipeline, fetch.started_at, fetch.fetch_id), fetch);
  }

  /** Sets a body aside that is no answer, for a person to look at; returns the file's path. */
  async setAside(pipeline: string, fetchId: string, bytes: Uint8Array, isGzip: boolean): Promise<string> {
    const file = path.join(this.root, pipeline, 'refused', `${fetchId}.json${isGzip ? '.gz' : ''}`);
    await writeAtomic(file, bytes);
    return file;
  }

  /** Where the answers of a run's look-ups are packed. */
  packFiles(pipeline: string, runId: string, month: string): PackFiles {
    const packFile = path.join(this.root, pipeline, 'packs', month, `${runId}.pack`);
    return { packFile, recordsFile: recordsOf(packFile), packPath: path.relative(this.home, packFile) };
  }

  /**
   * Fetches of a pipeline, oldest first, from the month `since` (`yyyy-mm`) on. A run's records lie in the month of its beginning, so
   * those of a run across the border of two months are all told for the first. Left out: what a power cut has torn. Those whose
   * answer retention has deleted say so (`pruned_at`).
   */
  async *fetches(pipeline: string, since = ''): AsyncGenerator<FetchRecord> {
    const folder = path.join(this.root, pipeline, 'fetches');
    for (const month of (await list(folder)).filter((name) => name >= since)) {
      const sizes = new Map<string, number>();
      const pruned = new PrunedPacks(this.home);
      for await (const fetch of fetchesOf(path.join(folder, month), await list(path.join(folder, month)), this.warn)) {
        const place = fetch.vault_path === null ? null : packPlace(fetch.vault_path);
        const prunedAt = place === null ? await this.prunedAt(fetch) : await pruned.at(place);
        if (prunedAt !== null) yield { ...fetch, pruned_at: prunedAt };
        else if (place === null || (await this.reaches(place, sizes))) yield asStored(fetch);
        else {
          const file = path.resolve(this.home, place.pack);
          this.tell(`${file} ends before the answer of fetch ${fetch.fetch_id}, which is left out`, fetch, file);
        }
      }
    }
  }

  /**
   * Where a fetch was recorded whose record is missing, relative to the home directory: a file of its own that is none any more, or the
   * records of the run in which it was born, also where only their pack is left. Null: nothing tells.
   */
  async recordPlace(pipeline: string, fetchId: string): Promise<string | null> {
    const at = (...names: string[]) => path.join(this.root, pipeline, ...names);
    for (const month of await list(at('fetches'))) {
      const alone = at('fetches', month, `${fetchId}.json`);
      if (await isThere(alone)) return path.relative(this.home, alone);
    }
    const runs = (await runRecords(this.root, pipeline)).map(({ file }) => file);
    for (const month of await list(at('packs')))
      for (const name of await list(at('packs', month)))
        if (name.endsWith('.pack')) runs.push(recordsOf(at('packs', month, name)));
    const born = (file: string) => bornMs(path.basename(file, RUN_RECORDS));
    const place = runs
      .filter((file) => born(file) <= bornMs(fetchId))
      .sort((a, b) => born(a) - born(b))
      .at(-1);
    return place === undefined ? null : path.relative(this.home, place);
  }

  /** When the answer, which lies in a file of its own, was pruned; null where it is there, or never was. */
  private async prunedAt({ pruned_at: at, vault_path: file }: FetchRecord): Promise<string | null> {
    return at === undefined || file === null || (await isThere(path.resolve(this.home, file))) ? null : at;
  }

  private async reaches({ pack, offset, length }: PackPlace, sizes: Map<string, number>): Promise<boolean> {
    const isWithin = () => offset + length <= (sizes.get(pack) ?? -1);
    // Asked again where it falls short: a run may still be writing.
    if (!isWithin()) sizes.set(pack, await sizeOf(path.resolve(this.home, pack)));
    return isWithin();
  }

  /**
   * The answers of the fetches that have one in a pack, in the same order; many of a pack are read at once. Each is proved
   * by its sha256; what is damaged is left out with a warning. At most some 8 MiB are held.
   */
  async *readAnswers(fetches: AsyncIterable<FetchRecord> | Iterable<FetchRecord>): AsyncGenerator<StoredAnswer> {
    let group = new PlacedGroup();
    for await (const fetch of fetches) {
      const place = fetch.vault_path === null ? null : packPlace(fetch.vault_path);
      if (place === null) continue;
      if (fetch.pruned_at !== undefined) {
        this.tell(`the answer of fetch ${fetch.fetch_id} is left out: ${prunedWords(fetch.pruned_at)}`, fetch);
        continue;
      }
      const placed = { fetch, place };
      if (!group.fits(placed)) {
        yield* this.answersOf(group);
        group = new PlacedGroup();
      }
      group.add(placed);
    }
    yield* this.answersOf(group);
  }

  private async *answersOf(group: PlacedGroup): AsyncGenerator<StoredAnswer> {
    if (group.entries.length === 0) return;
    const file = path.resolve(this.home, group.entries[0]!.place.pack);
    const stored = await group.read(file).catch((): Buffer[] => []);
    for (const [i, { fetch, place }] of group.entries.entries()) {
      const entry = tryEntry(stored[i] ?? Buffer.alloc(0), place);
      if (entry && isBodyOf(fetch, entry.body)) yield { fetch, ...entry };
      else this.tell(`${file} does not hold the answer of fetch ${fetch.fetch_id}, which is left out`, fetch, file);
    }
  }

  private tell(message: string, { pipeline, fetch_id: request }: FetchRecord, file?: string): void {
    this.warn(message, { pipeline, request, ...(file === undefined ? {} : { file }) });
  }

  /** The questions of a look-up, as they were given to the pack. Errors: `failed/damaged_answer` naming the file. */
  async asked(fetch: FetchRecord): Promise<unknown> {
    const place = packPlace(storedPath(fetch));
    if (place === null) throw new EtlError('bug', 'no_questions', `fetch ${fetch.fetch_id} lies in no pack`);
    return (await this.entry(fetch, place)).asked;
  }

  private async entry(fetch: FetchRecord, place: PackPlace): Promise<PackEntry> {
    const file = path.resolve(this.home, place.pack);
    try {
      return entryOf(await readEntry(file, place), place);
    } catch (cause) {
      throw damagedAnswer(file, fetch, cause);
    }
  }

  /**
   * The decoded bytes of a stored answer. With `verify` the whole is checked against its sha256 as it passes.
   * Errors: `failed/damaged_answer` naming the file.
   */
  async *answer(fetch: FetchRecord, verify = false): AsyncGenerator<Uint8Array> {
    const place = packPlace(storedPath(fetch));
    if (place !== null) {
      const { body } = await this.entry(fetch, place);
      if (verify && !isBodyOf(fetch, body)) throw damagedAnswer(path.resolve(this.home, place.pack), fetch, undefined);
      yield body;
      return;
    }
    const file = path.resolve(this.home, storedPath(fetch));
    const hash = createHash('sha256');
    try {
      const stored = createReadStream(file, { highWaterMark: READ_BYTES });
      const decoded = file.endsWith('.gz') ? stored.pipe(createGunzip({ chunkSize: READ_BYTES })) : stored;
      stored.on('error', (error) => decoded.destroy(error));
      for await (const chunk of decoded as AsyncIterable<Uint8Array>) {
        if (verify) hash.update(chunk);
        yield chunk;
      }
    } catch (cause) {
      throw damagedAnswer(file, fetch, cause);
    }
    if (verify && hash.digest('hex') !== fetch.sha256) throw damagedAnswer(file, fetch, undefined);
  }
}

/** A body on its way into the vault. Ends with `keep`, `refuse` or `discard`. */
export class VaultBody {
  private readonly sink: FileSink;
  private readonly scratch: string;
  private readonly place: (sha256: string, isGzip: boolean) => Promise<string>;
  private readonly refused: (name: string) => string;

  constructor(
    sink: FileSink,
    scratch: string,
    place: (sha256: string, isGzip: boolean) => Promise<string>,
    refused: (name: string) => string,
  ) {
    this.sink = sink;
    this.scratch = scratch;
    this.place = place;
    this.refused = refused;
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.sink.write(chunk);
  }

  /** Replaces erased values in what was written, once that is whole. To be called before `keep` or `refuse`. */
  async mask(kind: BodyKind, masker: Masker): Promise<void> {
    await this.sink.close();
    await maskInPlace(this.scratch, `${this.scratch}.masked`, kind, masker);
  }

  /** Puts the body into the vault; returns its path relative to the home directory. */
  async keep(sha256: string, isGzip: boolean): Promise<string> {
    await this.sink.close();
    const kept = await this.place(sha256, isGzip);
    await rm(this.scratch, { force: true });
    return kept;
  }

  /** Sets the body aside for a person to look at; returns the file's path. */
  async refuse(fetchId: string, isGzip: boolean): Promise<string> {
    await this.sink.close();
    const file = this.refused(`${fetchId}.json${isGzip ? '.gz' : ''}`);
    await moveIntoPlace(this.scratch, file);
    return file;
  }

  async discard(): Promise<void> {
    await this.sink.close();
    await rm(this.scratch, { force: true });
  }
}

/** Marks of packs, each read once. */
class PrunedPacks {
  private readonly home: string;
  private readonly packs = new Map<string, Promise<ReadonlyMap<number, string>>>();

  constructor(home: string) {
    this.home = home;
  }

  async at({ pack, offset }: PackPlace): Promise<string | null> {
    const entries = this.packs.get(pack) ?? prunedEntries(path.resolve(this.home, pack));
    this.packs.set(pack, entries);
    return (await entries).get(offset) ?? null;
  }
}

/** Its answer is there, so an older mark says nothing. */
function asStored(fetch: FetchRecord): FetchRecord {
  const { pruned_at: _, ...stored } = fetch;
  return stored;
}

function storedPath(fetch: FetchRecord): string {
  if (fetch.pruned_at !== undefined) throw prunedAnswer(fetch, fetch.pruned_at);
  if (fetch.vault_path === null) throw new EtlError('bug', 'no_answer', `fetch ${fetch.fetch_id} has no stored answer`);
  return fetch.vault_path;
}

function tryEntry(bytes: Buffer, place: PackPlace): PackEntry | null {
  try {
    return entryOf(bytes, place);
  } catch {
    return null; // told with the fetch
  }
}

function prunedAnswer(fetch: FetchRecord, at: string): EtlError {
  return new EtlError('failed', 'pruned_answer', `the answer of fetch ${fetch.fetch_id}: ${prunedWords(at)}`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
    hint: `fetch it again: partner-etl ${againWith(fetch)}`,
  });
}

/** What a look-up lost is asked again when it is due, or from a list of those EANs. */
function againWith({ pipeline, window_from: from, window_to: to }: FetchRecord): string {
  return from === null ? `run ${pipeline}` : `backfill ${pipeline} --from ${from} --to ${to} --refetch`;
}

function damagedAnswer(file: string, fetch: FetchRecord, cause: unknown): EtlError {
  return new EtlError('failed', 'damaged_answer', `${file} does not hold the answer of fetch ${fetch.fetch_id}`, {
    cause,
    concern: { file, pipeline: fetch.pipeline, requestId: fetch.fetch_id },
    hint: `fetch it again: partner-etl ${againWith(fetch)}`,
  });
}

async function list(folder: string): Promise<string[]> {
  return (await namesIn(folder)).sort();
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
