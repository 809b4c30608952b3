/** Proof that the open lake says what the lake holds: by its log, by its files, and read back by DuckDB as another engine would read it. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Day } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { type Pipeline, storedColumns } from '../../core/pipeline.ts';
import { differingSums, sumExpressions, sumsOf } from '../../engine/control-sums.ts';
import { Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import { loadExtensions } from '../../engine/extensions.ts';
import type { OpenTable } from '../../lake/delta/open-lake.ts';
import type { RunContext } from '../context.ts';
import { heldByChecks } from '../publish/kept-holds.ts';

export interface OpenLakeProblem {
  readonly pipeline: string;
  readonly day: string | null;
  readonly problem: string;
  readonly fix: string;
}

export interface OpenLakeProof {
  readonly differences: readonly OpenLakeProblem[];
  /** Why it was not read back; null: it was. */
  readonly unread: string | null;
}

const FOLLOW = 'partner-etl run';

/** Nothing where it is off. */
export async function verifyOpenLake(context: RunContext): Promise<OpenLakeProof> {
  const { openLake, paths } = context;
  if (openLake === null) return { differences: [], unread: null };
  const engine = await Engine.open({ tempDir: paths.work, ...context.engine });
  try {
    const unread = await loadExtensions(engine, ['delta'], context.extensions).then(
      () => null,
      (thrown) => asEtlError(thrown).message,
    );
    const isHeld = await heldByChecks(context);
    const differences: OpenLakeProblem[] = [];
    for (const pipeline of context.pipelines) {
      context.progress.note(`${pipeline.name}: delta`);
      const table = await openLake.table(engine, pipeline);
      differences.push(...(await problemsOf(context, engine, table, { isHeld, isRead: unread === null })));
    }
    return { differences, unread };
  } catch (thrown) {
    const { message, hint } = asEtlError(thrown);
    const problem = { pipeline: 'all', day: null, problem: message, fix: hint ?? 'partner-etl doctor' };
    return { differences: [problem], unread: null };
  } finally {
    engine.close();
  }
}

async function problemsOf(
  { lake }: RunContext,
  engine: Engine,
  { pipeline, folder, state }: OpenTable,
  { isHeld, isRead }: { readonly isHeld: (pipeline: Pipeline, day: Day) => boolean; readonly isRead: boolean },
): Promise<OpenLakeProblem[]> {
  const found: OpenLakeProblem[] = [];
  const problem = (day: string | null, what: string, fix = FOLLOW) =>
    found.push({ pipeline: pipeline.name, day, problem: what, fix });
  const remake = `delete ${folder}, then partner-etl run`;
  const files = new Map([...state.files.values()].map((add) => [path.basename(add.path).split('.')[0]!, add]));
  const wanted = [...(await lake.slices(pipeline.name)).values()].filter((entry) => lake.rowsFile(entry) !== null);
  const free = wanted.filter(({ content }) => !isHeld(pipeline, content.day));
  for (const entry of free) {
    const { day, rows } = entry.content;
    const add = files.get(day);
    if (add === undefined || path.basename(add.path) !== path.basename(lake.rowsFile(entry)!))
      problem(day, 'the log does not name the content that the lake has');
    else if ((JSON.parse(add.stats) as { numRecords: number }).numRecords !== rows)
      problem(day, `the log says another number of rows than ${rows}`, remake);
  }
  const days = new Set<string>(wanted.map(({ content }) => content.day));
  for (const [day, add] of files) {
    if (!days.has(day)) problem(day, 'the log names a file that the lake does not have');
    const size = await stat(path.join(folder, add.path)).then(
      (one) => one.size,
      () => null,
    );
    if (size !== add.size) problem(day, size === null ? 'its file is gone' : 'its file has another size', remake);
  }
  if (found.length > 0 || !isRead || files.size === 0) return found;
  const day = quoteName(pipeline.day);
  const sums = sumExpressions(storedColumns(pipeline)).map(({ sql }) => sql);
  const rows = await engine.rows(
    `SELECT CAST(${day} AS VARCHAR) AS day, CAST(count(*) AS VARCHAR) AS rows${sums.map((sum) => `, ${sum}`).join('')}
     FROM delta_scan(${quoteText(folder)}) GROUP BY ${day}`,
  );
  const read = new Map(rows.map((row) => [String(row.day), row]));
  for (const { content } of free) {
    const row = read.get(content.day);
    const there = { rows: Number(row?.rows ?? 0), sums: row === undefined ? {} : sumsOf(row) };
    if (there.rows !== content.rows)
      problem(content.day, `${there.rows} rows are read, the lake has ${content.rows}`, remake);
    else if (content.rows > 0 && differingSums(there.sums, content.sums).length > 0)
      problem(
        content.day,
        `the sums of ${differingSums(there.sums, content.sums).join(', ')} differ from the lake`,
        remake,
      );
  }
  return found;
}
