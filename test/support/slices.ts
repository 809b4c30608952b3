/**
 * Slices as the lake hands them over, made from a few lines of text: rows become a Parquet file by DuckDB itself, and what
 * the lake would declare of them is computed from that file.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ColumnKind, DUCKDB_TYPE } from '../../src/core/columns.ts';
import { addDays, type Day, dayNumber } from '../../src/core/days.ts';
import {
  ENDED_BY,
  EXTRA_COLUMN,
  OBSERVED_ON,
  type Pipeline,
  type StoredColumn,
  storedColumns,
  VALID_FROM,
  VALID_TO,
} from '../../src/core/pipeline.ts';
import type { RejectRecord, RunRecord, SliceContent } from '../../src/core/records.ts';
import { sumExpressions, sumsOf } from '../../src/engine/control-sums.ts';
import { Engine, quoteList, quoteName, quoteText } from '../../src/engine/duckdb.ts';
import type { LoadSlice, Publication } from '../../src/warehouse/target.ts';

/** Column → value as text, null or left out for NULL. The day and the fetch id are filled in. */
export type RowText = Readonly<Record<string, string | null>>;

export interface SliceOptions {
  readonly rejects?: readonly Partial<RejectRecord>[];
  /** What is declared besides or instead of what the file holds: to make slices that lie. */
  readonly content?: Partial<SliceContent>;
  readonly fetchId?: string;
}

const FETCH_ID = 'f0000000001';

const FETCHED_AT = '2026-01-02T03:04:05.678Z';

export const day = (text: string): Day => text as Day;

export class SliceMaker {
  readonly dir: string;
  private readonly engine: Engine;
  private made = 0;

  private constructor(dir: string, engine: Engine) {
    this.dir = dir;
    this.engine = engine;
  }

  static async open(): Promise<SliceMaker> {
    const dir = await mkdtemp(path.join(tmpdir(), 'partner-etl-slices-'));
    return new SliceMaker(dir, await Engine.open({ tempDir: path.join(dir, 'spill') }));
  }

  async close(): Promise<void> {
    this.engine.close();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** A slice of the given rows. */
  async make(
    pipeline: Pipeline,
    sliceDay: Day,
    rows: readonly RowText[],
    options: SliceOptions = {},
  ): Promise<LoadSlice> {
    const fetchId = options.fetchId ?? FETCH_ID;
    const columns = storedColumns(pipeline);
    const fixed: RowText = { [pipeline.day]: sliceDay, fetch_id: fetchId, valid_from: FETCHED_AT };
    const values = rows.map((row) => {
      const cells = { ...fixed, ...row };
      return `(${columns.map((c) => literal(cells[c.column] ?? null)).join(', ')})`;
    });
    const items = columns.map(
      (c) => `CAST(${quoteName(c.column)} AS ${DUCKDB_TYPE[c.kind]}) AS ${quoteName(c.column)}`,
    );
    const names = columns.map((c) => quoteName(c.column)).join(', ');
    const select = `SELECT ${items.join(', ')} FROM (VALUES ${values.join(', ')}) AS v(${names})`;
    return this.fromSelect(pipeline, sliceDay, rows.length === 0 ? null : select, options);
  }

  /** A slice of what a SELECT yields, which has the stored columns in order; null for no rows. */
  async fromSelect(
    pipeline: Pipeline,
    sliceDay: Day,
    select: string | null,
    options: SliceOptions = {},
  ): Promise<LoadSlice> {
    const file = select === null ? null : await this.write(select);
    const rejects = options.rejects ?? [];
    const rejectsFile = rejects.length === 0 ? null : await this.writeRejects(pipeline, sliceDay, rejects);
    const content: SliceContent = {
      ...plainContent(pipeline, sliceDay),
      digest: await this.digest(file, rejects),
      ...(await this.sums(pipeline, file)),
      rejects: rejects.length,
      fetch_id: options.fetchId ?? FETCH_ID,
      ...options.content,
    };
    return { pipeline, content, file, rejectsFile };
  }

  /** Slices of neighbouring days with `rowsADay` plausible rows each, keyed uniquely; `seed` changes what they say. */
  async many(pipeline: Pipeline, from: Day, days: number, rowsADay: number, seed = 1): Promise<LoadSlice[]> {
    const sliceDays = Array.from({ length: days }, (_, i) => addDays(from, i));
    const files: string[] = [];
    for (const sliceDay of sliceDays) files.push(await this.write(plausible(pipeline, sliceDay, rowsADay, seed)));
    const items = ['filename', 'count(*) AS rows', ...sumExpressions(storedColumns(pipeline)).map((sum) => sum.sql)];
    const sums = await this.engine.rows(
      `SELECT ${items.join(', ')} FROM read_parquet(${quoteList(files)}, filename = true) GROUP BY filename`,
    );
    const byFile = new Map(sums.map((row) => [row.filename, { rows: Number(row.rows), sums: sumsOf(row) }]));
    return sliceDays.map((sliceDay, i) => {
      const digest = createHash('sha256').update(`${pipeline.name} ${sliceDay} ${rowsADay} ${seed}`).digest('hex');
      const content = { ...plainContent(pipeline, sliceDay), digest, fetch_id: `f${seed}`, ...byFile.get(files[i]!) };
      return { pipeline, content, file: files[i]!, rejectsFile: null };
    });
  }

  private async write(select: string): Promise<string> {
    this.made += 1;
    const file = path.join(this.dir, `${this.made}.parquet`);
    await this.engine.run(`COPY (${select}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd)`);
    return file;
  }

  private async writeRejects(
    pipeline: Pipeline,
    sliceDay: Day,
    rejects: readonly Partial<RejectRecord>[],
  ): Promise<string> {
    const rows = rejects.map((reject, i) => {
      const { fetch_id = FETCH_ID, item = i, reason = 'bad_number', detail = '', raw = '{}' } = reject;
      const texts = [pipeline.name, sliceDay, fetch_id, String(item), reason, detail, raw];
      return `(${texts.map(literal).join(', ')})`;
    });
    return this.write(
      `SELECT pipeline, CAST(slice_day AS DATE) AS slice_day, fetch_id, CAST(item AS BIGINT) AS item, reason, detail, raw
       FROM (VALUES ${rows.join(', ')}) AS v(pipeline, slice_day, fetch_id, item, reason, detail, raw)`,
    );
  }

  private async sums(pipeline: Pipeline, file: string | null): Promise<Pick<SliceContent, 'rows' | 'sums'>> {
    const sums = sumExpressions(storedColumns(pipeline));
    if (file === null) return { rows: 0, sums: Object.fromEntries(sums.map((sum) => [sum.column, null])) };
    const items = ['count(*) AS rows', ...sums.map((sum) => sum.sql)];
    const row = await this.engine.row(`SELECT ${items.join(', ')} FROM read_parquet(${quoteList([file])})`);
    return { rows: Number(row.rows), sums: sumsOf(row) };
  }

  private async digest(file: string | null, rejects: readonly Partial<RejectRecord>[]): Promise<string> {
    const hash = createHash('sha256').update(JSON.stringify(rejects));
    if (file !== null) {
      const row = await this.engine.row(
        `SELECT CAST(sum(md5_number(CAST(r AS VARCHAR)) >> 8) AS VARCHAR) AS sum, count(*) AS n FROM read_parquet(${quoteList([file])}) AS r`,
      );
      hash.update(`${row.sum} ${row.n}`);
    }
    return hash.digest('hex');
  }
}

/** What is declared of a slice without rows and rejects. */
function plainContent(pipeline: Pipeline, sliceDay: Day): SliceContent {
  return {
    day: sliceDay,
    digest: '',
    rows: 0,
    rejects: 0,
    duplicates: 0,
    sums: {},
    settled: false,
    version: pipeline.version,
    fetch_id: FETCH_ID,
    fetched_at: FETCHED_AT,
    key_min: null,
    key_max: null,
  };
}

function literal(text: string | null): string {
  return text === null ? 'NULL' : quoteText(text);
}

/**
 * A SELECT of plausible rows; numbers follow from the row's number, the day and the seed. Every day has other keys. A row of a history was
 * so for a day and changed.
 */
function plausible(pipeline: Pipeline, sliceDay: Day, rows: number, seed: number): string {
  const needed = pipeline.columns.filter(({ kind, required }) => kind === 'day' && required);
  const days = new Set([pipeline.day, OBSERVED_ON, ...needed.map(({ column }) => column)]);
  const required = new Set(pipeline.columns.filter((one) => one.required).map((one) => one.column));
  const isHistory = pipeline.columns.some(({ column }) => column === VALID_TO);
  const items = storedColumns(pipeline).map((stored) => {
    const { column, kind } = stored;
    const value = () => {
      if (days.has(column)) return `DATE ${quoteText(sliceDay)}`;
      if (column === ENDED_BY) return `'changed'`;
      if (isHistory && column === VALID_FROM) return `${plausibleValue(stored, sliceDay, seed)} - INTERVAL 1 DAY`;
      if (column === 'fetch_id') return quoteText(`f${seed}`);
      if (pipeline.key?.includes(column) && (kind === 'text' || !required.has(column)))
        return kind === 'text' ? `concat(${dayNumber(sliceDay)}, lpad(CAST(i AS VARCHAR), 7, '0'))` : keyPart(kind);
      return plausibleValue(stored, sliceDay, seed);
    };
    return `CAST(${value()} AS ${DUCKDB_TYPE[kind]}) AS ${quoteName(column)}`;
  });
  return `SELECT ${items.join(', ')} FROM range(${rows}) AS r(i)`;
}

function plausibleValue({ column, kind }: StoredColumn, sliceDay: Day, seed: number): string {
  switch (kind) {
    case 'text':
      return `concat(${quoteText(`${column} `)}, (i * 7 + ${seed}) % 1000)`;
    case 'money':
    case 'percentage':
      return `CAST((i * 7919 + ${dayNumber(sliceDay)} + ${seed}) % 100000 AS DECIMAL(18,6)) / 100`;
    case 'count':
      return `(i + ${seed}) % 9`;
    case 'boolean':
      return `i % 3 = 0`;
    case 'ratio':
      return `i / 7.0`;
    case 'local-time':
    case 'utc-time':
      return `TIMESTAMP ${quoteText(sliceDay)} + to_seconds(i % 86400)`;
    case 'json':
      return column === EXTRA_COLUMN ? 'NULL' : `CASE WHEN i % 4 > 0 THEN concat('{"i": ', i, '}') END`;
    default:
      return 'NULL';
  }
}

/** A part of the key of row `i` that some have not. */
function keyPart(kind: ColumnKind): string {
  return `CASE WHEN i % 3 > 0 THEN ${kind === 'day' ? `DATE '2026-01-01' + CAST(i % 400 AS INTEGER)` : 'i / 100'} END`;
}

export function runRecord(runId: string, fields: Partial<RunRecord> = {}): RunRecord {
  return {
    run_id: runId,
    command: 'run',
    pipelines: ['orders'],
    started_at: '2026-01-02T03:00:00.000Z',
    ended_at: '2026-01-02T03:10:00.000Z',
    result: null,
    exit_code: null,
    summary: null,
    ...fields,
  };
}

/** A publication of these slices by run `runId`, with nothing else to tell unless given. */
export function publicationOf(
  runId: string,
  slices: readonly LoadSlice[],
  fields: Partial<Omit<Publication, 'slices'>> = {},
): Publication {
  return { run: runRecord(runId), runs: [], fetches: [], drift: [], holds: [], ...fields, slices };
}
