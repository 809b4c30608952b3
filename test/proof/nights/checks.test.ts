/** Checks before publication, in nights against the sandbox: what they hold, for how long, and who can see it. */
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { runRebuild, runRelease } from '../../../src/run/again.ts';
import { explain } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { lastRuns } from '../../../src/store/tables/runs.ts';
import { openWorld, type World } from '../../support/nights.ts';

let world: World;
let held: Day;
beforeEach(async () => {
  world = await openWorld({ ordersPerDay: 20 });
  held = addDays(world.today(), -3);
});
afterEach(() => world.close());

const fileOf = (name: string) => path.join(world.home, 'checks', `${name}.sql`);

/** A check of the user's that breaks on every item of the day, whatever it says. */
async function addCheck(severity: 'block' | 'warn', day = held, name = 'mine'): Promise<void> {
  await mkdir(path.join(world.home, 'checks'), { recursive: true });
  await writeFile(
    fileOf(name),
    `-- severity: ${severity}\n-- about: nothing was sold on that day\n-- pipeline: orders\n-- fix: look at it\n
     SELECT order_date AS slice_day, order_id FROM warehouse.fact_order_item WHERE order_date = DATE '${day}'`,
  );
}

const ask = (sql: string) =>
  world.within(async ({ targets }) => (await targets[0]!.query(sql, 100_000)).rows.map((row) => row.map(String)));
const rowsOn = (table: string, column: string) =>
  ask(`SELECT * EXCLUDE (loaded_at) FROM warehouse.${table} WHERE ${column} = '${held}' ORDER BY ALL`);
const holdsShown = async () => (await world.within(statusOf)).holds;
const fingerprint = async () => {
  const { ino, size, mtimeNs } = await stat(path.join(world.home, 'warehouse.duckdb'), { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
};
const release = () => world.within((context) => runRelease(context, 'orders', held));

describe('a check that blocks', () => {
  it('holds the slices that break it, publishes the rest in the same run, and exits with 3', async () => {
    await addCheck('block');
    const { exitCode, errors, run, published } = await world.night();
    expect({ exitCode, errors }).toEqual({ exitCode: 3, errors: [] });
    expect(run).toMatchObject({ result: 'set_aside', summary: { slices_held: 1, errors: [] } });
    expect(published).toMatchObject([
      { holds: [{ pipeline: 'orders', slice_day: held, check: 'mine', fix: 'look at it' }] },
    ]);
    expect(await rowsOn('fact_order_item', 'order_date')).toEqual([]);
    expect(await rowsOn('fact_promotion_day', 'promotion_date')).not.toEqual([]);
    const others = await world.differences({ from: addDays(held, 1), to: addDays(world.today(), -1) });
    expect(others).toEqual([]);
  });

  it('is told by status, explain, etl.hold and etl.run', async () => {
    await addCheck('block');
    await world.night();
    const detail = expect.stringMatching(
      /^check mine \(nothing was sold on that day\): \d+ rows break it, such as \{.*"order_id"/,
    );
    const hold = { pipeline: 'orders', slice_day: held, reason: 'check', detail, rows_before: 0 };
    expect(await holdsShown()).toMatchObject([hold]);
    expect(await world.within((context) => explain(context, 'orders', held))).toMatchObject({ held_by_check: hold });
    expect(await ask('SELECT pipeline, CAST(slice_day AS VARCHAR), reason FROM etl.hold')).toEqual([
      ['orders', held, 'check'],
    ]);
    expect(await ask('SELECT result, exit_code FROM etl.run')).toEqual([['set_aside', '3']]);
    expect(world.log).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('is held: check mine') }),
    );
  });

  it('leaves in the target what was there before', async () => {
    await world.night();
    const before = await rowsOn('fact_order_item', 'order_date');
    world.passDays(1);
    world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(held) });
    await addCheck('block');
    expect(await world.night()).toMatchObject({ exitCode: 3, errors: [] });
    expect(await rowsOn('fact_order_item', 'order_date')).toEqual(before);
    expect(await holdsShown()).toMatchObject([
      { pipeline: 'orders', rows: before.length - 1, rows_before: before.length },
      // What the item was is held with the day on which it still is.
      { pipeline: 'orders', check: 'order_items_history', rows: 1 },
    ]);
  });

  it('is told again, and nothing is written again, until it is fixed', async () => {
    await addCheck('block');
    await world.night();
    const [first, file] = [await holdsShown(), await fingerprint()];
    expect((await world.night()).exitCode).toBe(3);
    expect(await holdsShown()).toEqual(first);
    expect(await fingerprint()).toBe(file);
    await rm(fileOf('mine'));
    expect((await world.night()).exitCode).toBe(0);
    expect(await holdsShown()).toEqual([]);
    expect(await ask('SELECT * FROM etl.hold')).toEqual([]);
    expect(await world.differences(world.lookback())).toEqual([]);
  });

  it('is overruled by a release, for the content that was released', async () => {
    await addCheck('block');
    await world.night();
    expect(await release()).toMatchObject({
      exitCode: 0,
      errors: [],
      published: [{ result: { slices: 1 }, holds: [] }],
    });
    expect(await holdsShown()).toEqual([]);
    expect(await ask('SELECT * FROM etl.hold')).toEqual([]);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await world.night()).exitCode).toBe(0);
    expect((await world.within((context) => runRebuild(context, undefined))).exitCode).toBe(0);
    const { differences, warnings } = await world.within(verify);
    expect({ differences, warnings }).toMatchObject({ differences: [], warnings: [{ hop: 'duckdb', day: held }] });
    await expect(release()).rejects.toMatchObject({ kind: 'usage', code: 'not_held' });
    world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(held) });
    expect((await world.night()).exitCode).toBe(3);
  });

  it('is a difference to verify where it was added later', async () => {
    await world.night();
    expect(await world.within(verify)).toMatchObject({ differences: [] });
    await addCheck('block');
    expect((await world.within(verify)).differences).toMatchObject([
      {
        hop: 'duckdb',
        pipeline: 'orders',
        day: held,
        problem: expect.stringContaining('check mine'),
        fix: 'look at it',
      },
    ]);
    expect((await world.night()).exitCode).toBe(0);
  });
});

describe('a check that warns', () => {
  it('is told by the outcome, the log, status and etl.drift, and all is published', async () => {
    await addCheck('warn');
    const { exitCode, published } = await world.night();
    expect(exitCode).toBe(0);
    const mine = published[0]!.result!.warnings.filter(({ check }) => check === 'mine');
    expect(mine).toMatchObject([{ day: held, severity: 'warn' }]);
    expect(await world.differences(world.lookback())).toEqual([]);
    expect((await world.within(statusOf)).drift).toContainEqual(
      expect.objectContaining({
        pipeline: 'orders',
        kind: 'check:mine',
        count: mine[0]!.rows,
        first_seen_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        example: expect.stringContaining(held),
      }),
    );
    expect((await world.within((context) => explain(context, 'orders', held))).drift).toMatchObject([
      { kind: 'check:mine', field: 'slice_day', count: mine[0]!.rows },
    ]);
    expect(await ask(`SELECT kind, count FROM etl.drift WHERE kind = 'check:mine'`)).toEqual([
      ['check:mine', String(mine[0]!.rows)],
    ]);
    expect(world.log).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('check mine') }),
    );
    const { differences, warnings } = await world.within(verify);
    expect(differences).toEqual([]);
    expect(warnings).toContainEqual(expect.objectContaining({ day: held, fix: 'look at it' }));
  });
});

describe('a file that is no check', () => {
  it('is refused before anything is asked for', async () => {
    await addCheck('block');
    await writeFile(fileOf('other'), 'SELECT 1');
    await expect(world.night()).rejects.toMatchObject({
      kind: 'usage',
      code: 'check',
      concern: { file: fileOf('other') },
    });
    expect(await world.within(({ state }) => lastRuns(state.db, 1))).toEqual([]);
  });

  it('is refused before anything is loaded where only the engine can tell', async () => {
    await addCheck('block');
    await writeFile(
      fileOf('mine'),
      `-- severity: warn\n-- about: a\n-- pipeline: orders\n-- fix: b\nSELECT nothing AS slice_day FROM nowhere`,
    );
    expect(await world.night()).toMatchObject({
      exitCode: 2,
      errors: [{ code: 'check', concern: { file: fileOf('mine') } }],
    });
    await rm(fileOf('mine'));
    expect((await world.night()).exitCode).toBe(0);
    expect(await world.differences(world.lookback())).toEqual([]);
  });
});
