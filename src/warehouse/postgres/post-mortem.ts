/**
 * Which slice was at fault, when Postgres has refused a row. Its refusal names the value but not the day, and the day is what the
 * operator (and the run, which leaves the slice out and publishes the rest) must know. Runs after the rollback, and leaves
 * nothing behind: all of it happens in temporary tables.
 */
import { EtlError } from '../../core/errors.ts';
import { storedColumns } from '../../core/pipeline.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import { statementError, stateOf } from '../../store/postgres/errors.ts';
import { sliceRows } from '../slice-files.ts';
import { type DuplicateKey, duplicateError, type PipelineLoad } from '../slice-sql.ts';
import { factTable, keyText, OF_ACCOUNT, onSlices, sameIn } from '../table-sql.ts';
import type { LoadSlice } from '../target.ts';
import { copyRows } from './copy-rows.ts';
import { copyRejects, copySlices } from './copy-slices.ts';
import type { Client } from './sessions.ts';

const UNIQUE_VIOLATION = '23505';
/** Classes of SQLSTATE that are about a row: its value, a constraint on it, its size. */
const ABOUT_A_ROW = ['22', '23', '54'];

/** Whether the error is the server's refusal of a row. */
export function refusesRow(error: unknown): boolean {
  const state = error instanceof EtlError ? stateOf(error.cause) : null;
  return state !== null && ABOUT_A_ROW.includes(state.slice(0, 2));
}

/** The refusal with the slice named; null where none can be found any more. */
export async function nameSlice(
  client: Client,
  engine: Engine,
  loads: readonly PipelineLoad[],
  refusal: EtlError,
): Promise<EtlError | null> {
  const isDuplicate = stateOf(refusal.cause) === UNIQUE_VIOLATION;
  for (const load of loads) {
    const found = isDuplicate ? await findDuplicate(client, engine, load) : await findRefused(client, engine, load);
    if (found) return found;
  }
  return null;
}

/** An example of a key that the load would put beside itself or beside a row of another day. */
async function findDuplicate(client: Client, engine: Engine, load: PipelineLoad): Promise<EtlError | null> {
  const { pipeline, slices, days } = load;
  if (!pipeline.key) return null;
  const wanted = [...pipeline.key, pipeline.day];
  const columns = storedColumns(pipeline).filter((c) => wanted.includes(c.column));
  const expected = slices.reduce((sum, { content }) => sum + content.rows, 0);
  const names = pipeline.key.map(quoteName).join(', ');
  const list = wanted.map(quoteName).join(', ');
  const day = `CAST(${quoteName(pipeline.day)} AS VARCHAR)`;
  await client.query(
    `CREATE TEMP TABLE loading ON COMMIT DROP AS SELECT ${list} FROM ${factTable(pipeline)} WHERE false`,
  );
  await copyRows(client, engine, 'loading', columns, sliceRows(slices), expected);
  const { rows } = await client.query<DuplicateKey>(
    `SELECT ${keyText(pipeline.key)} AS key, min(${day}) FILTER (WHERE fresh) AS day,
       string_agg(DISTINCT ${day}, ', ' ORDER BY ${day}) AS days
     FROM (
       SELECT ${list}, true AS fresh FROM loading
       UNION ALL
       SELECT ${list}, false FROM ${factTable(pipeline)} AS fact
       WHERE EXISTS (SELECT FROM loading WHERE ${sameIn(pipeline, pipeline.key, 'fact', 'loading')}) AND ${OF_ACCOUNT} AND NOT (${onSlices(pipeline, days)})
     ) AS together
     GROUP BY ${names} HAVING count(*) > 1 ORDER BY ${names} LIMIT 1`,
  );
  await client.query('DROP TABLE loading');
  return rows[0] ? duplicateError(pipeline, rows[0]) : null;
}

/** Loads slice by slice until one is refused. */
async function findRefused(
  client: Client,
  engine: Engine,
  { pipeline, slices }: PipelineLoad,
): Promise<EtlError | null> {
  await client.query(
    `CREATE TEMP TABLE loading (LIKE ${factTable(pipeline)} INCLUDING CONSTRAINTS) ON COMMIT DROP;
     CREATE TEMP TABLE refusing (LIKE etl.reject INCLUDING CONSTRAINTS) ON COMMIT DROP`,
  );
  for (const slice of slices) {
    const refusal = await refusalOf(client, engine, slice);
    if (!refusal) continue;
    const { name } = pipeline;
    const { day } = slice.content;
    const about = { pipeline: name, day, target: 'postgres' };
    const { kind, code, hint = '' } = refusal;
    return new EtlError(kind, code, `${name} ${day}: ${refusal.message}`, {
      cause: refusal.cause,
      concern: about,
      hint,
    });
  }
  await client.query('DROP TABLE loading, refusing');
  return null;
}

async function refusalOf(client: Client, engine: Engine, slice: LoadSlice): Promise<EtlError | null> {
  await client.query('SAVEPOINT before');
  let refusal: EtlError | null = null;
  try {
    await copySlices({ client, engine, at: '2000-01-01T00:00:00Z' }, 'loading', slice.pipeline, [slice]);
    await copyRejects({ client, engine }, 'refusing', [slice]);
  } catch (error) {
    if (stateOf(error) === null) throw error;
    refusal = statementError(error);
  }
  await client.query('ROLLBACK TO SAVEPOINT before');
  return refusal;
}
