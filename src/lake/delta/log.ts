/**
 * The log of one Delta table: `_delta_log/<version>.json`, and every tenth version all of it as a checkpoint, so that no reader has to read
 * more than ten. A version is a file that is put where none was: it is there whole or not at all.
 */
import { link, mkdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../../core/errors.ts';
import { namesIn, syncDir, syncFile, writeAtomic } from '../../disk/atomic.ts';
import { type Engine, quoteFile, quoteText } from '../../engine/duckdb.ts';
import type { Action, AddFile, Metadata, Protocol, RemoveFile } from './actions.ts';

const CHECKPOINT_EVERY = 10;

/** What the log says now. */
export interface DeltaState {
  /** -1: there is no log yet. */
  readonly version: number;
  /** By path. */
  readonly files: ReadonlyMap<string, AddFile>;
  /** Files that earlier versions name, by path. */
  readonly removed: ReadonlyMap<string, RemoveFile>;
  readonly metadata: Metadata | null;
  readonly protocol: Protocol | null;
}

export class DeltaLog {
  private readonly folder: string;

  /** `table`: the table's folder. */
  constructor(table: string) {
    this.folder = path.join(table, '_delta_log');
  }

  /** Errors: `failed/delta_log`, naming the file that cannot be read. */
  async read(engine: Engine): Promise<DeltaState> {
    const { commits, checkpoints } = await this.list();
    const from = checkpoints.at(-1) ?? -1;
    const reading = new Replay(from);
    if (from >= 0) for (const action of await this.checkpoint(engine, from)) reading.take(action);
    for (const version of commits.filter((one) => one > from)) {
      const file = this.at(commitName(version));
      const text = await readFile(file, 'utf8');
      for (const line of text.split('\n').filter((one) => one !== '')) reading.take(parsed(line, file));
      reading.version = version;
    }
    return reading;
  }

  /** Makes the next version. Errors: `failed/delta_overtaken` where somebody else has made it meanwhile. */
  async commit(version: number, actions: readonly Action[]): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const half = this.at(`.${commitName(version)}.tmp`);
    await writeAtomic(half, `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`);
    try {
      await link(half, this.at(commitName(version)));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      throw new EtlError('failed', 'delta_overtaken', `${this.at(commitName(version))} is there already`, {
        cause,
        concern: { file: this.at(commitName(version)) },
        hint: 'something else writes this Delta log: only one home may',
      });
    } finally {
      await rm(half, { force: true });
    }
    await syncDir(this.folder);
  }

  /** Whether a checkpoint is due at this version. */
  isDue(version: number): boolean {
    return version > 0 && version % CHECKPOINT_EVERY === 0;
  }

  /** Writes what the log says as one file, of the time `nowMs`. Files that were removed before `cutoffMs` are left out: they are gone. */
  async writeCheckpoint(
    engine: Engine,
    state: DeltaState,
    { nowMs, cutoffMs }: { readonly nowMs: number; readonly cutoffMs: number },
  ): Promise<void> {
    const actions: Action[] = [
      ...(state.protocol ? [{ protocol: state.protocol }] : []),
      ...(state.metadata ? [{ metaData: state.metadata }] : []),
      ...[...state.files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
      ...[...state.removed.values()]
        .filter(({ deletionTimestamp }) => deletionTimestamp >= cutoffMs)
        .map((remove) => ({ remove: { ...remove, dataChange: false } })),
    ];
    const name = checkpointName(state.version);
    const [lines, half] = [this.at(`.${name}.json.tmp`), this.at(`.${name}.tmp`)];
    try {
      await writeAtomic(lines, `${actions.map((action) => JSON.stringify(action)).join('\n')}\n`);
      const columns = Object.entries(CHECKPOINT).map(([column, type]) => `${column}: ${quoteText(type)}`);
      await engine.run(
        `COPY (SELECT * FROM read_json(${quoteFile(lines)}, format = 'newline_delimited', columns = {${columns.join(', ')}}))
         TO ${quoteText(half)} (FORMAT parquet)`,
      );
      await utimes(half, nowMs / 1000, nowMs / 1000); // by which `tidy` tells its age
      await syncFile(half);
      await rename(half, this.at(name));
    } finally {
      for (const file of [lines, half]) await rm(file, { force: true });
    }
    const { size } = await stat(this.at(name));
    const last = { version: state.version, size: actions.length, sizeInBytes: size };
    await writeAtomic(this.at('_last_checkpoint'), `${JSON.stringify(last)}\n`);
  }

  /** Deletes what no reader of a version since `cutoffMs` needs: everything before the newest checkpoint that was there by then. */
  async tidy(cutoffMs: number): Promise<void> {
    const { checkpoints } = await this.list();
    const old: number[] = [];
    for (const version of checkpoints)
      if ((await stat(this.at(checkpointName(version)))).mtimeMs <= cutoffMs) old.push(version);
    const first = old.at(-1);
    if (first !== undefined) await this.forgetBefore(first);
  }

  /** Deletes everything before the checkpoint of this version, which must be there. */
  async forgetBefore(version: number): Promise<void> {
    const { commits, checkpoints } = await this.list();
    const names = [...commits.filter((one) => one < version).map(commitName)];
    names.push(...checkpoints.filter((one) => one < version).map(checkpointName));
    for (const name of names) await rm(this.at(name), { force: true });
  }

  private async checkpoint(engine: Engine, version: number): Promise<Action[]> {
    const file = this.at(checkpointName(version));
    const names = Object.keys(CHECKPOINT).map((name) => `'${name}', ${name}`);
    try {
      const rows = await engine.rows(
        `SELECT json_object(${names.join(', ')})::VARCHAR AS action FROM read_parquet(${quoteFile(file)}, hive_partitioning = false)`,
      );
      return rows.map(({ action }) => withoutNulls(JSON.parse(String(action)) as Action));
    } catch (cause) {
      throw damaged(file, cause);
    }
  }

  private async list(): Promise<{ readonly commits: number[]; readonly checkpoints: number[] }> {
    const names = await namesIn(this.folder);
    const versions = (pattern: RegExp) =>
      names
        .flatMap((name) => pattern.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b);
    return { commits: versions(/^(\d{20})\.json$/), checkpoints: versions(/^(\d{20})\.checkpoint\.parquet$/) };
  }

  private at(name: string): string {
    return path.join(this.folder, name);
  }
}

class Replay implements DeltaState {
  version: number;
  readonly files = new Map<string, AddFile>();
  readonly removed = new Map<string, RemoveFile>();
  metadata: Metadata | null = null;
  protocol: Protocol | null = null;

  constructor(version: number) {
    this.version = version;
  }

  take({ add, remove, metaData, protocol }: Action): void {
    if (add) {
      this.files.set(add.path, add);
      this.removed.delete(add.path);
    }
    if (remove) {
      this.files.delete(remove.path);
      this.removed.set(remove.path, remove);
    }
    this.metadata = metaData ?? this.metadata;
    this.protocol = protocol ?? this.protocol;
  }
}

/** Columns of a checkpoint, as types of DuckDB. */
const CHECKPOINT = {
  txn: 'STRUCT(appId VARCHAR, version BIGINT, lastUpdated BIGINT)',
  add: `STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, modificationTime BIGINT, dataChange BOOLEAN,
    stats VARCHAR, tags MAP(VARCHAR, VARCHAR))`,
  remove: `STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN,
    partitionValues MAP(VARCHAR, VARCHAR), size BIGINT)`,
  metaData: `STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)),
    schemaString VARCHAR, partitionColumns VARCHAR[], configuration MAP(VARCHAR, VARCHAR), createdTime BIGINT)`,
  protocol:
    'STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER, readerFeatures VARCHAR[], writerFeatures VARCHAR[])',
} as const;

function commitName(version: number): string {
  return `${String(version).padStart(20, '0')}.json`;
}

function checkpointName(version: number): string {
  return `${String(version).padStart(20, '0')}.checkpoint.parquet`;
}

function parsed(line: string, file: string): Action {
  try {
    return JSON.parse(line) as Action;
  } catch (cause) {
    throw damaged(file, cause);
  }
}

function damaged(file: string, cause: unknown): EtlError {
  return new EtlError('failed', 'delta_log', `${file} cannot be read`, {
    cause,
    concern: { file },
    hint: `delete the folder ${path.dirname(path.dirname(file))}: the next run makes it again from the lake`,
  });
}

/** A member that is null stands for one that is not there. */
function withoutNulls<T extends object>(value: T): T {
  const kept = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(
    kept.map(([name, one]) => [
      name,
      typeof one === 'object' && !Array.isArray(one) ? withoutNulls(one as object) : one,
    ]),
  ) as T;
}
