/**
 * `observed_to` as far as the rows of one publication tell it, worked out by DuckDB so that rows come with it. What is still
 * wrong then, because the table has rows in between or after, is set right as in DuckDB (../versions.ts): without this, Postgres
 * would write most rows of a long history twice (1,000,000 rows of 100,000 things made afresh: 58 s instead of 31 s).
 */
import { DUCKDB_TYPE } from '../../core/columns.ts';
import { OBSERVED_FROM, OBSERVED_TO, storedColumns } from '../../core/pipeline.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import { fileBatches, naming, parquetRows, rowFiles } from '../slice-files.ts';
import { type PipelineLoad, sameIn } from '../slice-sql.ts';
import type { RowSource } from './copy-rows.ts';

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
const namesOf = ({ pipeline }: PipelineLoad) => [...(pipeline.versions?.of ?? []), OBSERVED_FROM];

/**
 * A table of the versions that have a next one, with the beginning of that. Each is there once, also where the lake has it twice,
 * so that the join leaves as many rows as there are.
 */
async function makeEnds(engine: Engine, load: PipelineLoad): Promise<void> {
  const seen = quoteName(`seen_${load.pipeline.table}`);
  const names = namesOf(load).map(quoteName).join(', ');
  const things = (load.pipeline.versions?.of ?? []).map(quoteName).join(', ');
  const selects = fileBatches(rowFiles(load.slices)).map((batch) => `SELECT ${names} FROM ${parquetRows(batch)}`);
  const columns = storedColumns(load.pipeline)
    .filter(({ column }) => namesOf(load).includes(column))
    .map(({ column, kind }) => `${quoteName(column)} ${DUCKDB_TYPE[kind]}`);
  await engine.run(`CREATE TEMPORARY TABLE ${seen} (${columns.join(', ')})`);
  for (const select of selects) await engine.run(`INSERT INTO ${seen} (${names}) ${select}`);
  await engine.run(
    `CREATE TEMPORARY TABLE ${endsOf(load)} AS SELECT ${names}, ${OBSERVED_TO} FROM (
       SELECT ${names}, lead(${OBSERVED_FROM}) OVER (PARTITION BY ${things} ORDER BY ${OBSERVED_FROM}) AS ${OBSERVED_TO} FROM ${seen}
     ) WHERE ${OBSERVED_TO} > ${OBSERVED_FROM}`,
  );
  await engine.run(`DROP TABLE ${seen}`);
}

/** The rows of files, each with the end of its version. */
function withEnds(load: PipelineLoad): RowSource {
  const same = sameIn(load.pipeline, namesOf(load), 'seen', 'ended');
  return (rows) =>
    `(SELECT seen.*, ended.${OBSERVED_TO} FROM ${rows} AS seen LEFT JOIN ${endsOf(load)} AS ended ON ${same})`;
}
