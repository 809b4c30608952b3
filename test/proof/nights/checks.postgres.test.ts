/** Checks with both targets at once: each keeps the slice out, and the run tells once what both found. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { addDays, daysOf } from '../../../src/core/days.ts';
import { runRelease } from '../../../src/run/again.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openWorld } from '../../support/nights.ts';
import { freshDatabase } from '../../support/postgres-database.ts';

it('is held in both targets, counted once, and released in both', async () => {
  const database = await freshDatabase();
  const world = await openWorld({ ordersPerDay: 20, postgresUrl: database.url });
  try {
    const held = addDays(world.today(), -3);
    await mkdir(path.join(world.home, 'checks'));
    await writeFile(
      path.join(world.home, 'checks', 'mine.sql'),
      `-- severity: block\n-- about: a\n-- pipeline: orders\n-- fix: b\n
       SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE order_date = DATE '${held}';`,
    );
    const night = await world.night();
    expect(night).toMatchObject({ exitCode: 3, errors: [], run: { summary: { slices_held: 1 } } });
    expect(night.published.map(({ holds }) => holds.length)).toEqual([1, 1]);
    expect((await world.within(statusOf)).holds).toHaveLength(1);
    const holds = await world.within(({ targets }) =>
      Promise.all(targets.map((t) => t.query(`SELECT reason FROM etl.hold WHERE slice_day = '${held}'`, 9))),
    );
    expect(holds.map(({ rows }) => rows)).toEqual([[['check']], [['check']]]);
    const released = await world.within((context) => runRelease(context, 'orders', held));
    expect(released).toMatchObject({ exitCode: 0, errors: [] });
    expect((await world.within(verify)).differences).toEqual([]);
  } finally {
    await world.close();
    await database.drop();
  }
});

it.each(['warn', 'block'])(
  'what a check of severity %s finds in both is said once, however each writes its numbers',
  async (severity) => {
    const database = await freshDatabase();
    const world = await openWorld({ ordersPerDay: 20, postgresUrl: database.url });
    try {
      await mkdir(path.join(world.home, 'checks'));
      await writeFile(
        path.join(world.home, 'checks', 'mine.sql'),
        `-- severity: ${severity}\n-- about: a\n-- pipeline: orders\n-- fix: b\n
       SELECT DISTINCT order_date AS slice_day, coalesce(CAST(NULL AS DECIMAL(18,6)), 0) AS amount
       FROM warehouse.fact_order_item WHERE {on_days:order_date};`,
      );
      await world.night();
      const { from, to } = world.lookback();
      const told = world.log.filter(({ level, fields }) => level === 'warn' && fields?.code === 'check');
      expect(told.map(({ fields }) => fields?.slice).sort()).toEqual(daysOf({ from, to }));
    } finally {
      await world.close();
      await database.drop();
    }
  },
);
