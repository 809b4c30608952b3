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

/** Table of the rows that are duplicates or lost against another; made only where there are any. */
export const VERDICT = 'verdict';

/**
 * A relation of the rows of `typed` with what became of them: `_duplicate` true for an exact duplicate, `_reject` set for a row that
 * lost. Null where there are none of either.
 */
export async function judgedRows(engine: Engine, pipeline: Pipeline, typed: string): Promise<string | null> {
  const key = pipeline.key?.map(quoteName).join(', ') ?? '_hash';
  const sound = `FROM ${typed} WHERE _reject IS NULL`;
  const counts = await engine.row(`SELECT count(*) AS n, count(DISTINCT hash(${key})) AS d ${sound}`);
  if (counts.n === counts.d) return null;
  const names = pipeline.key?.map((c) => `${quoteText(`${c} = `)} || ${quoteName(c)}`).join(` || ', ' || `) ?? "''";
  const lost = `CASE WHEN _hash <> winner THEN 'conflicting_key' || ${UNIT} || ${names} END`;
  const ranked = `SELECT *, row_number() OVER same AS place, first_value(_hash) OVER same AS winner ${sound}
    WINDOW same AS (PARTITION BY ${key} ORDER BY _item DESC)`;
  await engine.run(
    `CREATE OR REPLACE TABLE ${VERDICT} AS SELECT _item, ${lost} AS lost FROM (${ranked}) WHERE place > 1`,
  );
  const verdict = 'coalesce(v.lost, t._reject) AS _reject, v._item IS NOT NULL AND v.lost IS NULL AS _duplicate';
  return `(SELECT t.* EXCLUDE (_reject), ${verdict} FROM ${typed} AS t LEFT JOIN ${VERDICT} AS v ON t._item = v._item)`;
}
