/**
 * `observed_to` as far as the rows of one publication tell it, worked out by DuckDB so that rows come with it. What is still
 * wrong then, because the table has rows in between or after, is set right as in DuckDB (../versions.ts): without this, Postgres
 * would write most rows of a long history twice (1,000,000 rows of 100,000 things made afresh: 58 s instead of 31 s).
 */
import { DUCKDB_TYPE } from '../../core/columns.ts';
import { OBSERVED_TO, storedColumns } from '../../core/pipeline.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import { naming, sliceRows } from '../slice-files.ts';
import type { PipelineLoad } from '../slice-sql.ts';
import { sameIn } from '../table-sql.ts';
import { endedAmong, versionNames } from '../versions.ts';

/** What to read instead of some rows, given their relation. */
export type RowSource = (rows: string) => string;

/**
 * How to read the rows of each load with their `observed_to`, by the name of its pipeline; none for rows that are no versions, and
 * for a part that comes without its whole. Leaves temporary tables in the engine, so once for each engine.
 * Errors: `failed/lake_file`, naming the slice.
 */
export async function versionEnds(engine: Engine, loads: readonly PipelineLoad[]): Promise<Map<string, RowSource>> {
  const sources = new Map<string, RowSource>();
  for (const load of loads) {
    const { name, versions } = load.pipeline;
    if (!versions || versions.within !== null) continue;
    await naming(engine, load.slices, () => makeEnds(engine, load));
    const source = withEnds(load);
    for (const { pipeline } of loads)
      if (pipeline === load.pipeline || pipeline.versions?.within === name) sources.set(pipeline.name, source);
  }
  return sources;
}

const endsOf = ({ pipeline }: PipelineLoad) => quoteName(`ends_${pipeline.table}`);

/** A table of the versions that have a next one, with the beginning of that. */
async function makeEnds(engine: Engine, load: PipelineLoad): Promise<void> {
  const seen = quoteName(`seen_${load.pipeline.table}`);
  const names = versionNames(load.pipeline).map(quoteName).join(', ');
  const selects = sliceRows(load.slices).map((rows) => `SELECT ${names} FROM ${rows}`);
  const columns = storedColumns(load.pipeline)
    .filter(({ column }) => versionNames(load.pipeline).includes(column))
    .map(({ column, kind }) => `${quoteName(column)} ${DUCKDB_TYPE[kind]}`);
  await engine.run(`CREATE TEMPORARY TABLE ${seen} (${columns.join(', ')})`);
  for (const select of selects) await engine.run(`INSERT INTO ${seen} (${names}) ${select}`);
  await engine.run(`CREATE TEMPORARY TABLE ${endsOf(load)} AS ${endedAmong(load.pipeline, seen)}`);
  await engine.run(`DROP TABLE ${seen}`);
}

/** The rows of files, each with the end of its version. */
function withEnds(load: PipelineLoad): RowSource {
  const same = sameIn(load.pipeline, versionNames(load.pipeline), 'seen', 'ended');
  return (rows) =>
    `(SELECT seen.*, ended.${OBSERVED_TO} FROM ${rows} AS seen LEFT JOIN ${endsOf(load)} AS ended ON ${same})`;
}
