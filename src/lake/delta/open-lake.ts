/**
 * The open lake: the lake's tables as Delta tables, which Spark, ClickHouse, Trino, polars and others read without this program:
 *
 *   delta/<table>/_delta_log/…                                             which files the table is, version by version
 *   delta/<table>/account=<account>/<yyyy-mm>/<day>.<digest>.parquet   the lake's own files: hard links, or copies where there are none
 *   delta/receipt/…                                                        what every slice holds and where it came from
 *
 * A tree of its own, so that the lake's folders stay the tables and nothing else, and files stay readable that the lake has replaced:
 * a version can be read until retention lets it go. Nothing here is the truth: what the log says is compared with the lake each time, so a crash
 * between the two is made good by the next run.
 */
import { createHash, randomUUID } from 'node:crypto';
import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { ACCOUNT } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import { type Day, MS_PER_DAY, monthOf } from '../../core/days.ts';
import { ACCOUNT_COLUMN, type Pipeline, storedColumns } from '../../core/pipeline.ts';
import type { SliceContent } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { moveIntoPlace, namesIn, syncDir, writeAtomic } from '../../disk/atomic.ts';
import { type Engine, quoteFile, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import type { Lake } from '../lake.ts';
import { type Action, type AddFile, type DeltaColumn, protocolOf, schemaOf } from './actions.ts';
import { DeltaLog, type DeltaState } from './log.ts';

/** What the table with the receipts is called. */
const RECEIPTS = 'receipt';

const RECEIPT_COLUMNS: readonly DeltaColumn[] = [
  { column: 'pipeline', kind: 'text', about: 'whose slice' },
  { column: 'slice_day', kind: 'day', about: 'of which day' },
  { column: 'table_name', kind: 'text', about: 'the table with its rows' },
  { column: 'rows', kind: 'count', about: 'how many rows the slice has' },
  { column: 'rejects', kind: 'count', about: 'how many items of the answer could not be loaded' },
  { column: 'sums', kind: 'json', about: 'exact sums of its amounts and counts, by column' },
  { column: 'digest', kind: 'text', about: 'identity of its content' },
  { column: 'fetch_id', kind: 'text', about: 'the fetch that brought it' },
  { column: 'fetched_at', kind: 'utc-time', about: 'when that was' },
];

export interface OpenLakeOptions {
  /** The folder `delta` of the home directory. */
  readonly root: string;
  readonly lake: Lake;
  readonly clock: Clock;
  readonly pipelines: readonly Pipeline[];
  /** For how many days versions can still be read. */
  readonly days: number;
}

/** One table as it is to be. */
interface Wanted {
  readonly table: string;
  readonly about: string;
  readonly columns: readonly DeltaColumn[];
  /** The column with the day of the slice. */
  readonly day: string;
  readonly files: readonly WantedFile[];
}

interface WantedFile {
  /** Under the table's folder. */
  readonly path: string;
  readonly rows: number;
  readonly from: Day;
  readonly to: Day;
  /** Puts the file to where it is wanted. */
  readonly put: (to: string) => Promise<void>;
}

/** A table as it was read back. */
export interface OpenTable {
  readonly pipeline: Pipeline;
  readonly folder: string;
  readonly state: DeltaState;
}

export class OpenLake {
  private readonly options: OpenLakeOptions;

  constructor(options: OpenLakeOptions) {
    this.options = options;
  }

  /**
   * Makes every log say what the lake holds now; a slice that `isHeld` names stays as the log has it. Returns how many tables got a new
   * version. Under the run lock.
   */
  async follow(engine: Engine, isHeld: (pipeline: Pipeline, day: Day) => boolean): Promise<number> {
    const receipts: Receipt[] = [];
    const kept: SliceName[] = [];
    let changed = 0;
    for (const pipeline of this.options.pipelines) {
      const state = await this.log(pipeline.table).read(engine);
      const there = new Map([...state.files.values()].map((add) => [dayIn(add.path), add]));
      const slices = [...(await this.options.lake.slices(pipeline.name)).values()];
      const free = slices.filter(({ content }) => !isHeld(pipeline, content.day));
      const held = slices.flatMap(({ content }) =>
        isHeld(pipeline, content.day) ? (there.get(content.day) ?? []) : [],
      );
      receipts.push(...free.map(({ content }) => receiptOf(pipeline, content)));
      kept.push(...held.map((add) => ({ pipeline: pipeline.name, day: dayIn(add.path) })));
      const files = [...free.flatMap((entry) => this.fileOf(entry)), ...held.map(staying)];
      const wanted = {
        table: pipeline.table,
        about: pipeline.about,
        columns: storedColumns(pipeline),
        day: pipeline.day,
        files,
      };
      if (await this.write(engine, wanted, state)) changed += 1;
    }
    const state = await this.log(RECEIPTS).read(engine);
    receipts.push(...(await this.keptReceipts(engine, kept, state)));
    if (await this.write(engine, receiptTable(engine, receipts), state)) changed += 1;
    return changed;
  }

  /** Lets versions go that are older than may be read, and files that only they name. Under the run lock. */
  async tidy(engine: Engine): Promise<void> {
    const cutoffMs = this.options.clock.now() - this.options.days * MS_PER_DAY;
    for (const table of await namesIn(this.options.root)) {
      const log = this.log(table);
      await log.tidy(cutoffMs);
      const state = await log.read(engine);
      await this.sweep(table, state, ({ deletionTimestamp }) => deletionTimestamp >= cutoffMs);
    }
  }

  /** Leaves the newest version alone, as after an erasure. Under the run lock. */
  async forget(engine: Engine): Promise<void> {
    const nowMs = this.options.clock.now();
    for (const table of await namesIn(this.options.root)) {
      const log = this.log(table);
      const state = await log.read(engine);
      // A run that was cut off before its first version has left files only.
      if (state.version >= 0) {
        await log.writeCheckpoint(engine, { ...state, removed: new Map() }, { nowMs, cutoffMs: nowMs });
        await log.forgetBefore(state.version);
      }
      await this.sweep(table, state, () => false);
    }
  }

  /** What the log of a table says. Errors: `failed/delta_log`. */
  async table(engine: Engine, pipeline: Pipeline): Promise<OpenTable> {
    const { table } = pipeline;
    return { pipeline, folder: path.join(this.options.root, table), state: await this.log(table).read(engine) };
  }

  private log(table: string): DeltaLog {
    return new DeltaLog(path.join(this.options.root, table));
  }

  private fileOf(entry: SliceEntry): WantedFile[] {
    const from = this.options.lake.rowsFile(entry);
    if (from === null) return [];
    const { day, rows } = entry.content;
    const name = `${folderOf(monthOf(day))}/${path.basename(from)}`;
    return [{ path: name, rows, from: day, to: day, put: (to) => linkOrCopy(from, to) }];
  }

  /** Writes a version where one is due. */
  private async write(engine: Engine, wanted: Wanted, before: DeltaState): Promise<boolean> {
    const { table, columns, about, files } = wanted;
    const nowMs = this.options.clock.now();
    const all = [ACCOUNT_OF, ...columns];
    const schemaString = schemaOf(all);
    const isNewSchema = before.metadata?.schemaString !== schemaString;
    const names = new Set(files.map((file) => file.path));
    const added = files.filter((file) => !before.files.has(file.path));
    const removed = [...before.files.values()].filter((file) => !names.has(file.path));
    if (added.length + removed.length === 0 && (!isNewSchema || files.length === 0)) return false;
    const version = before.version + 1;
    const adds: AddFile[] = [];
    for (const file of added) adds.push(await this.place(wanted, file, nowMs));
    for (const folder of new Set(added.map((file) => path.dirname(file.path))))
      await syncDir(path.join(this.options.root, table, folder));
    const actions: Action[] = [
      { commitInfo: { timestamp: nowMs, operation: 'WRITE', engineInfo: 'partner-etl' } },
      ...(isNewSchema
        ? [
            { protocol: protocolOf(all) },
            {
              metaData: {
                id: before.metadata?.id ?? randomUUID(),
                name: table,
                description: about,
                format: { provider: 'parquet' as const, options: {} },
                schemaString,
                partitionColumns: [ACCOUNT_COLUMN],
                configuration: {},
                createdTime: before.metadata?.createdTime ?? nowMs,
              },
            },
          ]
        : []),
      ...removed.map(({ path: gone, size, partitionValues }) => ({
        remove: {
          path: gone,
          deletionTimestamp: nowMs,
          dataChange: true,
          extendedFileMetadata: true,
          partitionValues,
          size,
        },
      })),
      ...adds.map((add) => ({ add })),
    ];
    const log = this.log(table);
    await log.commit(version, actions);
    if (log.isDue(version))
      await log.writeCheckpoint(engine, await log.read(engine), {
        nowMs,
        cutoffMs: nowMs - this.options.days * MS_PER_DAY,
      });
    return true;
  }

  private async place({ table, day }: Wanted, file: WantedFile, nowMs: number): Promise<AddFile> {
    const to = path.join(this.options.root, table, file.path);
    await mkdir(path.dirname(to), { recursive: true });
    await file.put(to);
    const { size } = await stat(to);
    const stats = {
      numRecords: file.rows,
      minValues: { [day]: file.from },
      maxValues: { [day]: file.to },
      nullCount: { [day]: 0 },
    };
    return {
      path: file.path,
      partitionValues: { [ACCOUNT_COLUMN]: ACCOUNT },
      size,
      modificationTime: nowMs,
      dataChange: true,
      stats: JSON.stringify(stats),
    };
  }

  /** Of slices that stay as they are in the log, though the lake holds another content by now. */
  private async keptReceipts(engine: Engine, kept: readonly SliceName[], { files }: DeltaState): Promise<Receipt[]> {
    if (kept.length === 0 || files.size === 0) return [];
    const there = [...files.keys()].map((file) => path.join(this.options.root, RECEIPTS, file));
    const names = kept.map(({ pipeline, day }) => `(${quoteText(pipeline)}, DATE ${quoteText(day)})`);
    const columns = RECEIPT_COLUMNS.map(({ column }) => `'${column}', CAST(${quoteName(column)} AS VARCHAR)`);
    const rows = await engine.rows(
      `SELECT CAST(json_object(${columns.join(', ')}) AS VARCHAR) AS line, CAST(slice_day AS VARCHAR) AS day
       FROM ${readParquet(there)} WHERE (pipeline, slice_day) IN (${names.join(', ')})`,
    );
    return rows.map(({ line, day }) => ({ day: String(day) as Day, line: String(line) }));
  }

  /** Deletes the files of a table that neither the newest version nor one that may still be read names. */
  private async sweep(
    table: string,
    { files, removed }: DeltaState,
    isKept: (remove: { readonly deletionTimestamp: number }) => boolean,
  ): Promise<void> {
    const folder = path.join(this.options.root, table);
    const kept = new Set([...files.keys(), ...[...removed.values()].filter(isKept).map((one) => one.path)]);
    for (const name of await readdir(folder, { recursive: true })) {
      const file = name.replaceAll(path.sep, '/');
      if (/^account=.*\.(?:parquet|tmp)$/.test(file) && !kept.has(file))
        await rm(path.join(folder, name), { force: true });
    }
  }
}

interface SliceName {
  readonly pipeline: string;
  readonly day: string;
}

interface Receipt {
  readonly day: Day;
  /** JSON of its columns. */
  readonly line: string;
}

const ACCOUNT_OF: DeltaColumn = {
  column: ACCOUNT_COLUMN,
  kind: 'text',
  about: 'the partner account that the row belongs to',
};

/** A month that is no column: polars takes every name with a sign of equality for one. */
function folderOf(month: string): string {
  return `${ACCOUNT_COLUMN}=${ACCOUNT}/${month}`;
}

/** The day that the file of a slice is of. */
function dayIn(name: string): string {
  return path.basename(name).split('.')[0]!;
}

/** One that is there already, and stays. */
function staying({ path: name }: AddFile): WantedFile {
  const day = dayIn(name) as Day;
  return { path: name, rows: 0, from: day, to: day, put: async () => undefined };
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return; // of a run that was cut off; its name says what it holds
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error;
    await copyFile(from, `${to}.tmp`);
    await moveIntoPlace(`${to}.tmp`, to);
  }
}

/** A line of JSON, with every value as text. */
function receiptOf(pipeline: Pipeline, content: SliceContent): Receipt {
  const { day, rows, rejects, sums, digest, fetch_id, fetched_at } = content;
  const line = {
    pipeline: pipeline.name,
    slice_day: day,
    table_name: pipeline.table,
    rows: String(rows),
    rejects: String(rejects),
    sums: JSON.stringify(sums),
    digest,
    fetch_id,
    fetched_at,
  };
  return { day, line: JSON.stringify(line) };
}

/** A file a month, named by what it says: only months in which something changed are written. */
function receiptTable(engine: Engine, receipts: readonly Receipt[]): Wanted {
  const months = new Map<string, Receipt[]>();
  for (const receipt of receipts) {
    const month = monthOf(receipt.day);
    const those = months.get(month) ?? [];
    those.push(receipt);
    months.set(month, those);
  }
  const files = [...months].map(([month, those]): WantedFile => {
    const lines = those.map(({ line }) => `${line}\n`).join('');
    const days = those.map(({ day }) => day).sort();
    const digest = createHash('sha256').update(lines).digest('hex').slice(0, 12);
    const name = `${folderOf(month)}/${digest}.parquet`;
    return {
      path: name,
      rows: those.length,
      from: days[0]!,
      to: days.at(-1)!,
      put: (to) => writeLines(engine, lines, to),
    };
  });
  const about = 'What every slice of the tables holds, and where it came from.';
  return { table: RECEIPTS, about, columns: RECEIPT_COLUMNS, day: 'slice_day', files };
}

const RECEIPT_TYPES = `{pipeline: 'VARCHAR', slice_day: 'DATE', table_name: 'VARCHAR', "rows": 'BIGINT', rejects: 'BIGINT', sums: 'VARCHAR',
  digest: 'VARCHAR', fetch_id: 'VARCHAR', fetched_at: 'TIMESTAMPTZ'}`;

async function writeLines(engine: Engine, lines: string, to: string): Promise<void> {
  const [text, half] = [`${to}.lines.tmp`, `${to}.tmp`];
  await writeAtomic(text, lines);
  try {
    await engine.run(
      `COPY (SELECT * FROM read_json(${quoteFile(text)}, format = 'newline_delimited', columns = ${RECEIPT_TYPES}))
       TO ${quoteText(half)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    await moveIntoPlace(half, to);
  } finally {
    await rm(text, { force: true });
  }
}
