/**
 * Rows that come twice in one answer.
 *
 * With a key: of several rows of one key the last in the answer wins; those equal to it are exact duplicates (dropped and
 * counted), those that differ are rejects (`conflicting_key`). Without a key: rows equal in every column are exact
 * duplicates, because the service groups by everything but the figures, so a second equal row says nothing new.
 *
 * The usual answer has none, so the first question is only whether the number of distinct hashes falls short of the rows.
 */
import type { Pipeline } from '../core/pipeline.ts';
import { type Engine, quoteName, quoteText } from '../engine/duckdb.ts';
import { UNIT } from './typing.ts';

export async function markDuplicates(engine: Engine, pipeline: Pipeline, typed: string): Promise<void> {
  const key = pipeline.key?.map(quoteName).join(', ') ?? '_hash';
  const sound = `FROM ${typed} WHERE _reject IS NULL`;
  const counts = await engine.row(`SELECT count(*) AS n, count(DISTINCT hash(${key})) AS d ${sound}`);
  if (counts.n === counts.d) return;
  const ranked = `SELECT _item, _hash, row_number() OVER same AS place, first_value(_hash) OVER same AS winner ${sound}
    WINDOW same AS (PARTITION BY ${key} ORDER BY _item DESC)`;
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE doubled AS SELECT _item, _hash = winner AS equal FROM (${ranked}) WHERE place > 1`,
  );
  await engine.run(`UPDATE ${typed} SET _duplicate = true WHERE _item IN (SELECT _item FROM doubled WHERE equal)`);
  const names = pipeline.key?.map((c) => `${quoteText(`${c} = `)} || ${quoteName(c)}`).join(` || ', ' || `) ?? "''";
  await engine.run(
    `UPDATE ${typed} SET _reject = 'conflicting_key' || ${UNIT} || ${names} WHERE _item IN (SELECT _item FROM doubled WHERE NOT equal)`,
  );
  await engine.run('DROP TABLE doubled');
}
