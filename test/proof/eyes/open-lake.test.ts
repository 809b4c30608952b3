/** Engines that know nothing of this project read the open lake: they find the receipts' rows and sums, and answer what docs/scaling.md asks. */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSummed } from '../../../src/core/columns.ts';
import { storedColumns } from '../../../src/core/pipeline.ts';
import { packageRoot } from '../../../src/disk/package-root.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { pythonWith } from '../../support/python.ts';

/** Spark takes half a gigabyte and a minute, so it is asked on request. */
const spark = process.env.PARTNER_ETL_TEST_SPARK === '1';
const [small, large] = [
  await pythonWith('delta', ['deltalake==1.6.6', 'polars==2.1.0', 'chdb==4.4.0']),
  spark ? await pythonWith('spark', ['pyspark==4.0.1']) : null,
];
const ENGINES = [
  ['delta-rs', small],
  ['polars', small],
  ['chdb', small],
  ['spark', large],
] as const;
const TABLES = ['fact_order_item', 'fact_promotion_day', 'fact_commission_day'];

interface Answer {
  readonly sums: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  readonly questions: readonly (readonly (readonly (string | null)[])[])[];
}

let world: World;
let questions: string[];
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 40, lookbackDays: 20, windowDays: 10, settings: { lake: { delta: true } } });
  for (let night = 0; night < 3; night++) {
    expect((await world.night()).errors).toEqual([]);
    world.passDays(1);
  }
  const text = await readFile(path.join(await packageRoot(), 'docs', 'scaling.md'), 'utf8');
  const blocks = [...text.matchAll(/^```sql\n([^`]*)```$/gm)].map(([, sql]) => String(sql));
  questions = blocks.filter((sql) => !/ATTACH/.test(sql)).map((sql) => sql.replaceAll('2026-10', '2026-03'));
});
afterAll(() => world.close());

function plain(value: string | boolean | null): string | null {
  if (typeof value !== 'string') return value === null ? null : String(value);
  return /^-?\d+(?:\.\d+)?$/.test(value) ? value.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : value;
}

it('docs/scaling.md asks six questions, and each has an answer', async () => {
  expect(questions).toHaveLength(6);
});

describe.each(ENGINES)('%s', (engine, python) => {
  it.skipIf(python === null)(
    'finds what the receipts say, to the last digit, and answers as the warehouse does',
    async () => {
      const summed = new Map(
        world.pipelines
          .filter(({ table }) => TABLES.includes(table))
          .map((pipeline) => [pipeline.table, storedColumns(pipeline).filter(({ kind }) => isSummed(kind))]),
      );
      const sums = Object.fromEntries(
        [...summed].map(([table, columns]) => [table, columns.map(({ column }) => column)]),
      );
      const given = JSON.stringify({ sums: { ...sums, receipt: ['rows', 'rejects'] }, questions });
      const script = path.join(await packageRoot(), 'test', 'proof', 'eyes', 'read-delta.py');
      const out = execFileSync(python!, [script, engine, path.join(world.home, 'delta')], {
        input: given,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
        maxBuffer: 2 ** 26,
      });
      const found = JSON.parse(out) as Answer;
      await world.within(async ({ targets }) => {
        const ask = async (sql: string) => (await targets[0]!.query(sql, 10_000)).rows.map((row) => row.map(plain));
        for (const [table, columns] of Object.entries(sums)) {
          const wanted = columns.map((column) => `sum(CAST(sums ->> '${column}' AS DECIMAL(38, 6)))`);
          const [row] = await ask(
            `SELECT sum(rows), ${wanted.join(', ')} FROM etl.receipt WHERE superseded_at IS NULL AND pipeline = (
             SELECT DISTINCT pipeline FROM etl.receipt WHERE pipeline IN ('${world.pipelines.find((one) => one.table === table)?.name}'))`,
          );
          expect([table, ...Object.values(found.sums[table]!)]).toEqual([table, ...row!]);
        }
        const [receipts] = await ask(
          'SELECT count(*), sum(rows), sum(rejects) FROM etl.receipt WHERE superseded_at IS NULL',
        );
        expect(Object.values(found.sums.receipt!)).toEqual(receipts);
        for (const [i, sql] of questions.entries()) {
          const here = sql
            .replaceAll(/\b(fact_\w+)/g, 'warehouse.$1')
            .replaceAll(/FROM receipt\b/g, 'FROM (SELECT * FROM etl.receipt WHERE superseded_at IS NULL)');
          expect(found.questions[i]).toEqual(await ask(here));
        }
      });
    },
  );
});
