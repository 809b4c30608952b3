/**
 * The raw vault: every answer as it was received, immutable, named by its content.
 *
 *   vault/<pipeline>/answers/<ab>/<sha256>.json[.gz]     the body; `.gz` when it came with Content-Encoding gzip
 *   vault/<pipeline>/fetches/<yyyy-mm>/<fetch_id>.json   the sidecar: the fetch record, also of a request that failed
 *   vault/<pipeline>/refused/<fetch_id>.json[.gz]        a body that is no report, as far as it was read, for a person to look at
 *
 * The name is the sha256 of the decoded body, so an answer that did not change is stored once, however it was compressed.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip } from 'node:zlib';
import { EtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { moveIntoPlace, writeJson } from '../disk/atomic.ts';
import { FileSink } from '../disk/sink.ts';

const READ_BYTES = 1024 * 1024;

export class Vault {
  private readonly home: string;
  private readonly root: string;

  /** `home` is the home directory, to which paths in fetch records are relative; `root` the vault in it. */
  constructor(home: string, root: string) {
    this.home = home;
    this.root = root;
  }

  /** Opens a body for writing; `scratch` is a file on the same file system. */
  async receive(pipeline: string, scratch: string): Promise<VaultBody> {
    await mkdir(path.dirname(scratch), { recursive: true });
    const place = async (sha256: string, isGzip: boolean): Promise<string> => {
      const plain = path.join(this.root, pipeline, 'answers', sha256.slice(0, 2), `${sha256}.json`);
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
    const month = fetch.started_at.slice(0, 7);
    await writeJson(path.join(this.root, fetch.pipeline, 'fetches', month, `${fetch.fetch_id}.json`), fetch);
  }

  /** Fetches of a pipeline, oldest first, from the month `since` (`yyyy-mm`) on. */
  async *fetches(pipeline: string, since = ''): AsyncGenerator<FetchRecord> {
    const folder = path.join(this.root, pipeline, 'fetches');
    for (const month of (await list(folder)).filter((name) => name >= since))
      for (const name of await list(path.join(folder, month)))
        if (name.endsWith('.json')) yield await readSidecar(path.join(folder, month, name));
  }

  /**
   * The decoded bytes of a stored answer. With `verify` the whole is checked against its sha256 as it passes.
   * Errors: `failed/damaged_answer` naming the file.
   */
  async *answer(fetch: FetchRecord, verify = false): AsyncGenerator<Uint8Array> {
    if (fetch.vault_path === null)
      throw new EtlError('bug', 'no_answer', `fetch ${fetch.fetch_id} has no stored answer`);
    const file = path.resolve(this.home, fetch.vault_path);
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

function damagedAnswer(file: string, fetch: FetchRecord, cause: unknown): EtlError {
  return new EtlError('failed', 'damaged_answer', `${file} does not hold the answer of fetch ${fetch.fetch_id}`, {
    cause,
    concern: { file, pipeline: fetch.pipeline, requestId: fetch.fetch_id },
    hint: `fetch it again: partner-etl backfill ${fetch.pipeline} --from ${fetch.window_from} --to ${fetch.window_to} --refetch`,
  });
}

async function readSidecar(file: string): Promise<FetchRecord> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as FetchRecord;
  } catch (cause) {
    throw new EtlError('failed', 'damaged_sidecar', `${file} is no fetch record`, {
      cause,
      concern: { file },
      hint: 'move it away; the answer it describes can be fetched again',
    });
  }
}

async function list(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
