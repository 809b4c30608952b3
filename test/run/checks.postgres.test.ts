/** A check that blocks, with both targets at once: each keeps the slice out, and the run tells it once. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../src/core/days.ts';
import { runRelease } from '../../src/run/again.ts';
import { statusOf } from '../../src/run/status.ts';
import { verify } from '../../src/run/verify.ts';
import { openWorld } from '../support/nights.ts';
import { freshDatabase } from '../support/postgres-database.ts';

it('is held in both targets, counted once, and released in both', async () => {
  const database = await freshDatabase();
  const world = await openWorld({ ordersPerDay: 20, postgresUrl: database.url });
  try {
    const held = addDays(world.today(), -3);
    await mkdir(path.join(world.home, 'checks'));
    await writeFile(
      path.join(world.home, 'checks', 'mine.sql'),
      `-- severity: block\n-- about: a\n-- pipeline: orders\n-- mend: b\n
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
