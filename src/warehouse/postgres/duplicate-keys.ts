/**
 * Which key would be in a table twice, when Postgres has refused one. Its refusal names the key but not the days, and those are what
 * the operator (and the run, which leaves the slice out) must know. Runs after the rollback, in a transaction that is
 * rolled back as well.
 */
import type { EtlError } from '../../core/errors.ts';
import { storedColumns } from '../../core/pipeline.ts';
import { type Engine, quoteName } from '../../engine/duckdb.ts';
import { rowFiles } from '../slice-files.ts';
import { type DuplicateKey, duplicateError, factTable, keyText, onDays, type PipelineLoad } from '../slice-sql.ts';
import { copyRows } from './copy-rows.ts';
import type { Client } from './sessions.ts';

/** An example of a key that the load would put beside itself or beside a row of another day; null when there is none. */
export async function findDuplicate(client: Client, engine: Engine, load: PipelineLoad): Promise<EtlError | null> {
  const { pipeline, slices, days } = load;
  if (!pipeline.key) return null;
  const wanted = [...pipeline.key, pipeline.day];
  const columns = storedColumns(pipeline).filter((c) => wanted.includes(c.column));
  const expected = slices.reduce((sum, { content }) => sum + content.rows, 0);
  const names = pipeline.key.map(quoteName).join(', ');
  const text = `CAST(${quoteName(pipeline.day)} AS VARCHAR)`;
  const list = [...pipeline.key, pipeline.day].map(quoteName).join(', ');
  await client.query(
    `CREATE TEMP TABLE loading ON COMMIT DROP AS SELECT ${list} FROM ${factTable(pipeline)} WHERE false`,
  );
  await copyRows(client, engine, 'loading', columns, rowFiles(slices), expected);
  const { rows } = await client.query<DuplicateKey>(
    `SELECT ${keyText(pipeline.key)} AS key, min(${text}) FILTER (WHERE fresh) AS day,
       string_agg(DISTINCT ${text}, ', ' ORDER BY ${text}) AS days
     FROM (
       SELECT ${list}, true AS fresh FROM loading
       UNION ALL
       SELECT ${list}, false FROM ${factTable(pipeline)} JOIN (SELECT DISTINCT ${names} FROM loading) AS keys USING (${names})
       WHERE NOT (${onDays(pipeline.day, days)})
     ) AS together
     GROUP BY ${names} HAVING count(*) > 1 ORDER BY ${names} LIMIT 1`,
  );
  return rows[0] ? duplicateError(pipeline, rows[0]) : null;
}
