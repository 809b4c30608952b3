/** A page of ten years: every pipeline has every day. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { addDays, type Day, daysOf, monthOf } from '../../../src/core/days.ts';
import { homePaths } from '../../../src/core/home.ts';
import type { SliceEntry } from '../../../src/core/slices.ts';
import type { PageModel } from '../../../src/serve/page/model.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { type NamedEntry, writeSlices } from '../../../src/store/tables/slices.ts';
import { openPageScene } from '../../serve/page/scene.ts';
import { openWorld, type World } from '../../support/nights.ts';

const YEARS_DAYS = 3_652;
/** Of this month the promotions were never asked for. */
const GAP = '2019-07';

let world: World;
let first: Day;
beforeAll(async () => {
  world = await openWorld();
  first = addDays(world.today(), -YEARS_DAYS);
  for (const { name } of pipelines) await fillLake(name);
});
afterAll(() => world.close());

/** Slices without files, as a day without sales has them. */
async function fillLake(pipeline: string): Promise<void> {
  const asked = daysOf({ from: first, to: addDays(world.today(), -1) });
  const days = asked.filter((day) => pipeline !== 'promotions' || monthOf(day) !== GAP);
  await write(days.map((day) => ({ pipeline, entry: entryOn(day, true) })));
}

async function write(entries: readonly NamedEntry[]): Promise<void> {
  const state = await openSqliteState(homePaths(world.home).database);
  await state.write((tx) => writeSlices(tx, entries));
  await state.close();
}

function entryOn(day: Day, settled: boolean): SliceEntry {
  const sums = { commission_original: '1.100000', commission_open: null };
  const content = {
    ...{ day, digest: '0'.repeat(32), rows: 1, rejects: 0, duplicates: 0, sums, settled, version: 1 },
    ...{ fetch_id: 'f0', fetched_at: `${day}T03:00:00.000Z`, key_min: null, key_max: null },
  };
  return { content, file: null, rejects_file: null, moved: false, held: null, checked: null };
}

it('sees what was committed since it was made', async () => {
  const { ask } = await openPageScene(world);
  const read = async () => JSON.parse((await ask('/api/page')).text) as PageModel;
  const model = await read();
  for (const { pipeline, from, cells, counts } of model.pipelines) {
    expect([pipeline, from, counts.missing]).toEqual([pipeline, first, 0]);
    expect(cells.length).toBeGreaterThanOrEqual(YEARS_DAYS);
    // A gap before the first day of interest is nobody's wish.
    const gap = pipeline === 'promotions' ? `s${'-'.repeat(31)}s` : 's';
    expect(cells).toMatch(new RegExp(`^s+${gap}s+q?$`));
  }
  expect(model.money).toHaveLength(YEARS_DAYS);
  expect(model.money[0]).toMatchObject({ day: first, commission: '1.100000', commission_open: '0' });
  expect((await ask('/')).status).toBe(200);
  expect((await ask(`/cell/orders/${addDays(world.today(), -1)}`)).status).toBe(200);

  await write([{ pipeline: 'orders', entry: entryOn(addDays(world.today(), -1), false) }]);
  await world.clock.advance(10_000);
  const later = await read();
  const cellsOf = ({ pipelines: rows }: PageModel) => rows.find(({ pipeline }) => pipeline === 'orders')!;
  expect(cellsOf(later).counts.settled).toBe(cellsOf(model).counts.settled - 1);
  expect(cellsOf(later).cells.slice(0, 3_000)).toBe('s'.repeat(3_000));
});
