/** What SQL mended or did not understand while it typed rows. */
import type { Pipeline } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import { type Engine, quoteName } from '../engine/duckdb.ts';

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
    const value = await engine.row(
      `SELECT ${quoteName(field)}::VARCHAR AS v FROM ${typed} WHERE _item = ${row.example}`,
    );
    const example = String(value.v ?? '').slice(0, 100);
    records.push({
      pipeline: pipeline.name,
      fetch_id: fetchId,
      kind,
      field,
      count: Number(row.n),
      example,
    });
  }
  return records;
}
