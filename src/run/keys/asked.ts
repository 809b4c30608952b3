/** What was asked when, between the state and DuckDB, where the plan of a night joins it with what could be asked. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { type Pipeline, VALID_FROM } from '../../core/pipeline.ts';
import { FileSink } from '../../disk/sink.ts';
import { type Engine, quoteFile, quoteName, type Row } from '../../engine/duckdb.ts';
import { mergeOf } from '../../normalise/observed.ts';
import { askedLines, forgetAsked, type Noted, noteAsked } from '../../store/tables/asked.ts';
import type { RunContext } from '../context.ts';

/** Keys that nobody has asked for since are forgotten after so many days. */
const KEPT_DAYS = 400;
/** Rows that are brought from DuckDB to the state at once. */
const PAGE = 20_000;

/**
 * Makes table `asked` with the key's columns, `asked_at`, `outcome` and `misses`, how often in a row there was nothing. A million keys
 * take 4 s of a busy core.
 */
export async function readAsked(
  engine: Engine,
  { state }: Pick<RunContext, 'state'>,
  pipeline: Pipeline,
  folder: string,
): Promise<void> {
  const columns = keyColumns(pipeline).map(({ name, type }, i) => `key[${i + 1}]::${type} AS ${quoteName(name)}`);
  const scratch = path.join(folder, `${pipeline.name}-asked.ndjson`);
  const sink = await FileSink.open(scratch);
  let isEmpty = true;
  try {
    for await (const lines of askedLines(state.db, pipeline.name)) {
      isEmpty = false;
      await sink.write(Buffer.from(lines));
    }
  } finally {
    await sink.close();
  }
  const lines = `read_json(${quoteFile(scratch)}, format = 'newline_delimited', records = true,
    columns = {key: 'VARCHAR[]', asked_at: 'VARCHAR', outcome: 'VARCHAR', misses: 'BIGINT'})`;
  const none = `(SELECT NULL::VARCHAR[] AS key, NULL AS asked_at, NULL::VARCHAR AS outcome, NULL::BIGINT AS misses LIMIT 0)`;
  await engine.run(
    `CREATE OR REPLACE TABLE asked AS
     SELECT ${columns.join(', ')}, asked_at::TIMESTAMPTZ AS asked_at, outcome, misses FROM ${isEmpty ? none : lines}`,
  );
  await rm(scratch, { force: true });
}

function keyColumns(pipeline: Pipeline) {
  return mergeOf(pipeline).by.map((name) => {
    const kind = pipeline.columns.find((c) => c.column === name)?.kind;
    return { name, type: kind === 'money' ? 'DECIMAL(18,6)' : 'VARCHAR' };
  });
}

/** Notes what the table `observed` says was answered. */
export async function noteObserved(
  engine: Engine,
  { state, clock }: Pick<RunContext, 'state' | 'clock'>,
  pipeline: Pipeline,
  observed: string,
): Promise<void> {
  const columns = keyColumns(pipeline).map(({ name, type }) => `${quoteName(name)}::${type}::VARCHAR`);
  await engine.run(
    `CREATE OR REPLACE TABLE noted AS SELECT *, row_number() OVER () AS place FROM (
       SELECT to_json([${columns.join(', ')}])::VARCHAR AS key, strftime(max(${VALID_FROM}), '%Y-%m-%dT%H:%M:%S.%gZ') AS asked_at,
         arg_max(outcome, ${VALID_FROM}) AS outcome, count(*) AS times, bool_or(outcome = 'found') AS was_found
       FROM ${observed} WHERE ${VALID_FROM} IS NOT NULL GROUP BY key)`,
  );
  try {
    for (let at = 0; ; at += PAGE) {
      const rows = await engine.rows(`SELECT * FROM noted WHERE place > ${at} AND place <= ${at + PAGE}`);
      await noteAsked(state, pipeline.name, rows.map(notedOf));
      if (rows.length < PAGE) break;
    }
  } finally {
    await engine.run('DROP TABLE noted');
  }
  await forgetAsked(state, pipeline.name, isoTime(clock.now() - KEPT_DAYS * 86_400_000));
}

/** Found it has no misses; not found behind a find it has one. */
function notedOf(row: Row): Noted {
  const [isFound, wasFound] = [row.outcome === 'found', row.was_found === true];
  return {
    key: String(row.key),
    asked_at: String(row.asked_at),
    outcome: String(row.outcome),
    misses: isFound ? 0 : wasFound ? 1 : Number(row.times),
    isMissAgain: !isFound && !wasFound,
  };
}
