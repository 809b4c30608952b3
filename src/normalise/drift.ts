/** What SQL fixed or did not understand while it typed rows. */
import type { Pipeline } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import { type Engine, quoteName, quoteText } from '../engine/duckdb.ts';

/** What drifted by its values: each value that nobody knew is a thing of its own, or a second one would hide behind the first. */
const BY_VALUE = 'unknown_status';
/** Values that are named one by one; the rest goes under `…`. An answer could hold millions. */
const VALUES_KEPT = 50;
const EXAMPLE_CHARS = 100;

/** Counted by kind and field, with an example. `typed`: a relation that typedSelect made. */
export async function driftOf(
  engine: Engine,
  pipeline: Pipeline,
  fetchId: string,
  typed: string,
): Promise<DriftRecord[]> {
  const rows = await engine.rows(
    `SELECT name, count(*) AS n, min(_item) AS example FROM (
       SELECT unnest(string_split(rtrim(_drift, ','), ',')) AS name, _item FROM ${typed} WHERE _drift <> '')
     GROUP BY name ORDER BY name`,
  );
  const records: DriftRecord[] = [];
  for (const row of rows) {
    const [kind = '', field = ''] = String(row.name).split(':');
    const record = { pipeline: pipeline.name, fetch_id: fetchId, kind, field };
    if (kind === BY_VALUE) records.push(...(await byValue(engine, record, typed)));
    else {
      const value = await engine.row(
        `SELECT ${quoteName(field)}::VARCHAR AS v FROM ${typed} WHERE _item = ${row.example}`,
      );
      records.push({ ...record, count: Number(row.n), example: String(value.v ?? '').slice(0, EXAMPLE_CHARS) });
    }
  }
  return records;
}

/** A record for each value, named `field=value`, the most frequent first. */
async function byValue(
  engine: Engine,
  record: Omit<DriftRecord, 'count' | 'example'>,
  typed: string,
): Promise<DriftRecord[]> {
  const { kind, field } = record;
  const rows = await engine.rows(
    `SELECT CASE WHEN place <= ${VALUES_KEPT} THEN left(value, ${EXAMPLE_CHARS}) ELSE '…' END AS name, sum(n)::BIGINT AS n,
       min(left(value, ${EXAMPLE_CHARS})) AS example
     FROM (SELECT ${quoteName(field)}::VARCHAR AS value, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC, value) AS place
       FROM ${typed} WHERE contains(_drift, ${quoteText(`${kind}:${field},`)}) GROUP BY value)
     GROUP BY name ORDER BY min(place)`,
  );
  return rows.map((row) => ({
    ...record,
    field: `${field}=${row.name}`,
    count: Number(row.n),
    example: String(row.example ?? ''),
  }));
}
