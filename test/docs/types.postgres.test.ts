/** The types that the dictionary shows for Postgres are those that Postgres has. */
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { orders } from '../../pipelines/orders.ts';
import { systemClock } from '../../src/core/clock.ts';
import { gatherDocs } from '../../src/docs/docs.ts';
import { nameOf } from '../../src/docs/model.ts';
import { day, publicationOf, SliceMaker } from '../support/slices.ts';
import { rowsOf } from '../warehouse/bench.ts';
import { postgresWarehouse } from '../warehouse/postgres/warehouse.ts';

const TYPES = `SELECT nspname || '.' || relname || '.' || attname, format_type(atttypid, atttypmod)
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname IN ('warehouse', 'mart', 'etl') AND relkind IN ('r', 'p', 'v', 'm') AND attnum > 0 AND NOT attisdropped`;

/** What a view computes may be a narrower whole number there, or a numeric whose size is not declared. */
function isSame(there: string, shown: string, isTable: boolean): boolean {
  if (isTable) return there === shown;
  const family = (type: string) =>
    type.replace(/^numeric.*/, 'numeric').replace(/^(?:bigint|integer|smallint)$/, 'whole');
  return family(there) === family(shown);
}

test('every column has the type in Postgres that the dictionary shows', async () => {
  const warehouse = await postgresWarehouse('migrated');
  const maker = await SliceMaker.open();
  try {
    const target = warehouse.open();
    await target.publish(publicationOf('r1', await maker.many(orders, day('2026-03-01'), 1, 1)));
    const there = new Map((await rowsOf(target, TYPES)).map(([name, type]) => [name, type]));
    const tempDir = path.join(tmpdir(), 'partner-etl-docs-never-made');
    const { tables } = await gatherDocs({ pipelines, clock: systemClock, tempDir, target: null });
    const facts = new Set(
      tables.filter(({ kind }) => kind === 'table').flatMap((t) => t.columns.map((c) => `${nameOf(t)}.${c.name}`)),
    );
    const shown = tables
      .filter(({ kind }) => kind !== 'function')
      .flatMap((t) => t.columns.map((c) => [`${nameOf(t)}.${c.name}`, c.postgresType] as const));
    expect(shown.length).toBeGreaterThan(400);
    const wrong = shown.filter(([name, type]) => !isSame(String(there.get(name)), type, facts.has(name)));
    expect(wrong.map(([name, type]) => [name, type, there.get(name)])).toEqual([]);
  } finally {
    await maker.close();
    await warehouse.remove();
  }
});
