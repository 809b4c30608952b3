/** A lake with a history: order items made by DuckDB itself, so that ten million of them take seconds. All of them settled. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { orders } from '../../../pipelines/orders.ts';
import { DUCKDB_TYPE } from '../../../src/core/columns.ts';
import { type Day, dayNumber } from '../../../src/core/days.ts';
import { type Pipeline, storedColumns } from '../../../src/core/pipeline.ts';
import type { SliceContent } from '../../../src/core/records.ts';
import { type Engine, quoteName, quoteText } from '../../../src/engine/duckdb.ts';
import { measureSlice } from '../../../src/engine/measure.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';

/** One slice for each day, `rows` items each. `edition` changes every commission, so another edition is other content. */
export async function makeSlices(
  engine: Engine,
  dir: string,
  days: readonly Day[],
  rows: number,
  edition = 0,
): Promise<LoadSlice[]> {
  await mkdir(dir, { recursive: true });
  const slices: LoadSlice[] = [];
  for (const day of days) {
    const file = path.join(dir, `${day}.${edition}.parquet`);
    await engine.run(
      `COPY (${orderItems(day, rows, edition)}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    slices.push({ pipeline: orders, content: await contentOf(engine, orders, day, file), file, rejectsFile: null });
  }
  return slices;
}

export async function contentOf(engine: Engine, pipeline: Pipeline, day: Day, file: string): Promise<SliceContent> {
  return {
    ...(await measureSlice(engine, pipeline, `read_parquet(${quoteText(file)})`, null)),
    day,
    rejects: 0,
    duplicates: 0,
    version: pipeline.version,
    fetch_id: 'f0bench',
    fetched_at: `${day}T03:00:00.000Z`,
  };
}

function orderItems(day: Day, rows: number, edition: number): string {
  const first = dayNumber(day) * 10_000_000;
  const values: Readonly<Record<string, string>> = {
    order_date: `DATE '${day}'`,
    order_date_time: `'${day} 12:00:00'`,
    order_id: `(${first} + i // 3)::VARCHAR`,
    order_item_id: `(${first} + i)::VARCHAR`,
    product_title: `'Een mooi product met een titel, nummer ' || (i % 5000)`,
    product_id: `(9200000000000 + i % 5000)::VARCHAR`,
    chunk_name: `'Elektronica'`,
    site_name: `'voorbeeld.nl'`,
    site_code: `(1000 + i % 4)::VARCHAR`,
    frame_type: `'text-link'`,
    name: `'campagne ' || (i % 50)`,
    sub_id: `'sub-' || (i % 1000)`,
    status: `'Geaccepteerd'`,
    quantity: '1 + i % 3',
    price_excl_vat: '(1 + (i * 7919) % 20000) / 121.0',
    price_incl_vat: '(1 + (i * 7919) % 20000) / 100.0',
    commission_percentage: '5',
    commission: `((i * 7919) % 1000 + ${edition}) / 100.0`,
    status_final: 'true',
    approved_for_payment: 'true',
    order_local_time: `TIMESTAMP '${day} 12:00:00'`,
    order_utc_time: `TIMESTAMPTZ '${day} 11:00:00+00'`,
    status_group: `'approved'`,
    fetch_id: `'f0bench'`,
    valid_from: `TIMESTAMPTZ '${day} 03:00:00+00'`,
  };
  const columns = storedColumns(orders).map(
    (c) => `CAST(${values[c.column] ?? 'NULL'} AS ${DUCKDB_TYPE[c.kind]}) AS ${quoteName(c.column)}`,
  );
  return `SELECT ${columns.join(', ')} FROM range(${rows}) t(i)`;
}
