/** Two accounts in one warehouse: no view mixes them, whatever they have in common. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { readDictionary } from '../../../src/warehouse/dictionary/dictionary.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, type Warehouse } from '../bench.ts';
import { rateSlices } from './rates.ts';

/** Behind the days of `rateSlices`. */
const FIRST = day('2026-06-01');

const GRAMMAR = '{site}|{place}';

/** What is about no account: the calendar. */
const OF_NO_ACCOUNT = new Set(['warehouse.dim_date']);

const dictionary = await readDictionary(pipelines);
const VIEWS = [...dictionary].flatMap(([name, entry]) =>
  entry.arguments === null && !OF_NO_ACCOUNT.has(name) ? [name] : [],
);

const COLUMNS = `SELECT CASE t.table_schema WHEN 'main' THEN 'warehouse' ELSE t.table_schema END || '.' || t.table_name, column_name, lower(data_type)
  FROM information_schema.columns AS c JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
  WHERE t.table_type = 'BASE TABLE' AND t.table_schema IN ('main', 'warehouse', 'etl')
  ORDER BY 1, ordinal_position`;

/** Copies every row to another account: the same keys, twice the amounts, other words, and everything an hour later. */
function othersOf(columns: readonly (readonly unknown[])[]): string[] {
  const tables = [...new Set(columns.map(([table]) => String(table)))];
  return tables.flatMap((table) => {
    const of = columns.filter(([other]) => other === table);
    const names = of.map(([, name]) => String(name));
    if (!names.includes('account')) return [];
    const values = of.map(([, name, type]) => otherValue(String(name), String(type)));
    return [`INSERT INTO ${table} (${names.map(quoted).join(', ')}) SELECT ${values.join(', ')} FROM ${table}`];
  });
}

const quoted = (name: string) => `"${name}"`;

function otherValue(name: string, type: string): string {
  if (name === 'account') return `'other'`;
  if (['valid_from', 'valid_to'].includes(name)) return `${name} + INTERVAL '1 hour'`;
  if (['site_name', 'title'].includes(name)) return `'z' || ${name}`;
  if (/^(numeric|decimal|bigint)/.test(type)) return `${quoted(name)} * 2`;
  return quoted(name);
}

const DRIFT = `INSERT INTO etl.drift_by_fetch (account, pipeline, fetch_id, kind, field, seen_at, count, example)
  VALUES ('default', 'orders', 'f1', 'unknown_field', 'x', TIMESTAMP '2026-06-01 00:00:00', 3, '1')`;

/** And it has newer days. */
const NEWER = `INSERT INTO etl.receipt (account, pipeline, slice_day, digest, version, rows, rejects, duplicates, sums, settled, fetch_id, fetched_at, run_id, loaded_at)
  SELECT account, pipeline, slice_day + 20, digest, version, rows, rejects, duplicates, sums, settled, fetch_id, fetched_at, run_id, loaded_at
  FROM etl.receipt WHERE account = 'other' AND superseded_at IS NULL AND slice_day >= DATE '${FIRST}'`;

export function accountsApart(newWarehouse: NewWarehouse): void {
  let warehouse: Warehouse;
  let target: Target;
  let before: ReadonlyMap<string, readonly string[]>;
  let after: ReadonlyMap<string, readonly string[]>;
  const rowsIn = async (view: string, account: string) =>
    (await rowsOf(target, `SELECT * FROM ${view} WHERE account = '${account}'`)).map((row) => JSON.stringify(row));
  const shown = async () => {
    const found = new Map<string, readonly string[]>();
    for (const view of VIEWS) found.set(view, (await rowsIn(view, 'default')).sort());
    return found;
  };

  beforeAll(async () => {
    const maker = await SliceMaker.open();
    warehouse = await newWarehouse('none');
    target = warehouse.open(undefined, { subIdGrammar: GRAMMAR });
    const plain = await Promise.all(pipelines.map((pipeline) => maker.many(pipeline, FIRST, 5, 40)));
    await target.publish(publicationOf('r1', [...plain.flat(), ...(await rateSlices(maker))]));
    await maker.close();
    await warehouse.execute(DRIFT);
    before = await shown();
    for (const sql of othersOf(await rowsOf(target, COLUMNS))) await warehouse.execute(sql);
    await warehouse.execute(NEWER);
    after = await shown();
  });
  afterAll(() => warehouse.remove());

  describe('with a second account that has the same keys', () => {
    test.each(VIEWS)('%s shows of the first what it showed without it', async (view) => {
      expect(before.get(view)?.length).toBeGreaterThan(0);
      expect(after.get(view)).toEqual(before.get(view));
      expect((await rowsIn(view, 'other')).length).toBeGreaterThan(0);
    });
  });
}
