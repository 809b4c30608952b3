/**
 * SQL over the rows of slices that both engines understand, and the control check that it serves: what lies in the fact table
 * after loading must be, day by day, what the lake declared. `failed/control_sums` otherwise.
 */
import type { Day } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { isNamed, type Pipeline, storedColumns } from '../core/pipeline.ts';
import type { ControlSums } from '../core/records.ts';
import { differingSums, sumExpressions, sumsOf } from '../engine/control-sums.ts';
import { quoteName, quoteText } from '../engine/duckdb.ts';
import { onDays } from './on-days.ts';
import { factTable, OF_ACCOUNT, onSlices } from './table-sql.ts';
import type { LoadSlice, PublishWatcher, RejectSums, SliceSums } from './target.ts';
import type { SqlDialect } from './target-name.ts';

/** The slices of one pipeline in a publication, by day, oldest first. */
export interface PipelineLoad {
  readonly pipeline: Pipeline;
  readonly slices: readonly LoadSlice[];
  readonly days: readonly Day[];
  /** Called with rows as they are loaded. */
  readonly onRows?: PublishWatcher['onRows'] | undefined;
}

/** The slices by pipeline, oldest day first; parts come behind the pipelines that they are part of. */
export function loadsOf(slices: readonly LoadSlice[], watcher?: PublishWatcher): PipelineLoad[] {
  const names = [...new Set(slices.map((slice) => slice.pipeline.name))];
  const loads = names.map((name): PipelineLoad => {
    const own = slices.filter((slice) => slice.pipeline.name === name);
    own.sort((a, b) => (a.content.day < b.content.day ? -1 : 1));
    return {
      pipeline: own[0]!.pipeline,
      slices: own,
      days: own.map((slice) => slice.content.day),
      onRows: watcher?.onRows,
    };
  });
  return [...loads.filter(({ pipeline }) => isNamed(pipeline)), ...loads.filter(({ pipeline }) => !isNamed(pipeline))];
}

/** Loads one after the other; returns how many rows. */
export async function loadAll(
  loads: readonly PipelineLoad[],
  loadOne: (load: PipelineLoad) => Promise<number>,
): Promise<number> {
  let rows = 0;
  for (const load of loads) rows += await loadOne(load);
  return rows;
}

/** Statements that empty a warehouse before it is made afresh; the receipts stay as the record of what it held before `at`. */
export function emptying(pipelines: readonly Pipeline[], at: string): string[] {
  return [
    ...pipelines.map((pipeline) => `DELETE FROM ${factTable(pipeline)} WHERE ${OF_ACCOUNT}`),
    `DELETE FROM etl.reject WHERE ${OF_ACCOUNT}`,
    `UPDATE etl.receipt SET superseded_at = TIMESTAMPTZ ${quoteText(at)} WHERE ${OF_ACCOUNT} AND superseded_at IS NULL`,
  ];
}

/** Rows and exact sums by day, of all days or of the given ones. */
export function daySums(pipeline: Pipeline, days?: readonly Day[]): string {
  const day = quoteName(pipeline.day);
  const items = [
    `CAST(${day} AS VARCHAR) AS day`,
    'CAST(count(*) AS VARCHAR) AS rows',
    ...sumExpressions(storedColumns(pipeline)).map((sum) => sum.sql),
  ];
  const where = days ? onSlices(pipeline, days) : OF_ACCOUNT;
  return `SELECT ${items.join(', ')} FROM ${factTable(pipeline)} WHERE ${where} GROUP BY ${day} ORDER BY ${day}`;
}

/** What the rows of `daySums` say. */
export function daySumsOf(rows: readonly Readonly<Record<string, unknown>>[]): Map<Day, SliceSums> {
  return new Map(rows.map((row) => [String(row.day) as Day, { rows: Number(row.rows), sums: sumsOf(row) }]));
}

/** Number of rejects by day, of the given days of a pipeline. */
export function dayRejects(pipeline: Pipeline, days: readonly Day[]): string {
  return `SELECT CAST(slice_day AS VARCHAR) AS day, CAST(count(*) AS VARCHAR) AS rejects FROM etl.reject
    WHERE ${rejectsOn(pipeline, days)} GROUP BY slice_day`;
}

/**
 * Number of rejects by day and two sums over the hashes of all their columns, of a relation like `etl.reject`: alike in both engines,
 * whatever the order. The lengths keep apart what would read the same if a text were cut elsewhere.
 */
export function rejectSums(dialect: SqlDialect, rejects: string): string {
  const texts = ['reason', 'detail', 'raw'];
  const parts = ['fetch_id', 'item', ...texts.map((text) => `length(${text})`), ...texts];
  const digits = (from: number) => `substr(h, ${from}, 15)`;
  const number = (from: number) =>
    dialect === 'duckdb'
      ? `CAST('0x' || ${digits(from)} AS BIGINT)`
      : `CAST(CAST('x0' || ${digits(from)} AS bit(64)) AS bigint)`;
  const sum = (from: number) => `CAST(sum(${number(from)}) AS VARCHAR)`;
  return `SELECT CAST(slice_day AS VARCHAR) AS day, CAST(count(*) AS VARCHAR) AS rejects, ${sum(1)} || ' ' || ${sum(16)} AS hashes
    FROM (SELECT slice_day, md5(concat_ws('|', ${parts.join(', ')})) AS h FROM ${rejects}) AS hashed GROUP BY slice_day`;
}

/** What the rows of `rejectSums` say. */
export function rejectSumsOf(rows: readonly Readonly<Record<string, unknown>>[]): Map<Day, RejectSums> {
  return new Map(
    rows.map(({ day, rejects, hashes }) => [String(day) as Day, { rejects: Number(rejects), hashes: String(hashes) }]),
  );
}

/** The rejects that a target has of a pipeline. */
export function rejectsIn({ name }: Pipeline): string {
  return `(SELECT * FROM etl.reject WHERE ${OF_ACCOUNT} AND pipeline = ${quoteText(name)}) AS there`;
}

/** A condition that is true on the rejects of the given days of a pipeline. */
export function rejectsOn(pipeline: Pipeline, days: readonly Day[]): string {
  return `${OF_ACCOUNT} AND pipeline = ${quoteText(pipeline.name)} AND ${onDays('slice_day', days)}`;
}

/** Refuses a load whose rows do not add up to what the lake declared, naming the slice and what differs. */
export function checkRows(load: PipelineLoad, found: ReadonlyMap<Day, SliceSums>): void {
  for (const { content } of load.slices) {
    const there = found.get(content.day) ?? { rows: 0, sums: {} };
    if (there.rows !== content.rows)
      throw controlError(
        load.pipeline,
        content.day,
        `${there.rows} rows are loaded, the lake declares ${content.rows}`,
      );
    if (content.rows === 0) continue;
    const [column] = differingSums(there.sums, content.sums);
    if (column !== undefined)
      throw controlError(load.pipeline, content.day, `${column} ${differs(column, there.sums, content.sums)}`);
  }
}

/** Refuses a load whose rejects are not as many as the lake declared. */
export function checkRejects(load: PipelineLoad, found: ReadonlyMap<Day, number>): void {
  for (const { content } of load.slices) {
    const there = found.get(content.day) ?? 0;
    if (there !== content.rejects)
      throw controlError(
        load.pipeline,
        content.day,
        `${there} rejects are loaded, the lake declares ${content.rejects}`,
      );
  }
}

function differs(column: string, there: ControlSums, declared: ControlSums): string {
  return `adds up to ${there[column] ?? 'nothing'}, the lake declares ${declared[column] ?? 'nothing'}`;
}

export function controlError(pipeline: Pipeline, day: Day, what: string): EtlError {
  return new EtlError('failed', 'control_sums', `${pipeline.name} ${day}: ${what}`, {
    concern: { pipeline: pipeline.name, day },
    hint: 'nothing was published; make the slice again from the raw store (replay) and see whether it stays',
  });
}

/** A key that would be in the table twice: as text, the slice being loaded that has it, and all the days it is on. */
export interface DuplicateKey {
  readonly key: string;
  readonly day: string;
  readonly days: string;
}

export function duplicateError(pipeline: Pipeline, { key, day, days }: DuplicateKey): EtlError {
  return new EtlError('failed', 'duplicate_key', `${pipeline.name} ${day}: ${key} would be there twice, on ${days}`, {
    concern: { pipeline: pipeline.name, day },
    hint: 'the row may have moved to another day: fetch both days again (backfill --refetch)',
  });
}
