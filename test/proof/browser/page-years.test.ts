/** A page of ten years: every pipeline has every day. */
import { mkdir, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { addDays, type Day, daysOf, monthOf } from '../../../src/core/days.ts';
import { homePaths } from '../../../src/core/home.ts';
import type { PageModel } from '../../../src/serve/page/model.ts';
import { openPageScene } from '../../serve/page-scene.ts';
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
  await writeFile(manifestFile('promotions', GAP), JSON.stringify({ layout: 1, slices: {} }));
});
afterAll(() => world.close());

function manifestFile(pipeline: string, month: string): string {
  return path.join(homePaths(world.home).manifests, pipeline, `${month}.json`);
}

/** Slices without rows, as a day without sales has them. */
async function fillLake(pipeline: string): Promise<void> {
  const months = new Map<string, Record<string, unknown>>();
  for (const day of daysOf({ from: first, to: addDays(world.today(), -1) })) {
    const slices = months.get(monthOf(day)) ?? {};
    const sums = { commission_original: '1.100000', commission_open: null };
    const content = {
      ...{ day, digest: '0'.repeat(32), rows: 1, rejects: 0, duplicates: 0, sums, settled: true, version: 1 },
      ...{ fetch_id: 'f0', fetched_at: `${day}T03:00:00.000Z`, key_min: null, key_max: null },
    };
    slices[day] = { content, file: null, rejects_file: null, moved: false, held: null };
    months.set(monthOf(day), slices);
  }
  for (const [month, slices] of months) {
    const file = manifestFile(pipeline, month);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify({ layout: 1, slices }));
    await utimes(file, 1_500_000_000, 1_500_000_000);
  }
}

it('reads no month twice that nobody has written since', async () => {
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

  // Whoever reads it would find the damage: the file has the same size and time as before.
  const old = manifestFile('orders', '2018-03');
  const { size } = await stat(old);
  await writeFile(old, 'x'.repeat(size));
  await utimes(old, 1_500_000_000, 1_500_000_000);
  const month = monthOf(addDays(world.today(), -1));
  await writeFile(manifestFile('orders', month), JSON.stringify({ layout: 1, slices: {} }));
  await writeFile(path.join(homePaths(world.home).manifests, 'journal-was-here'), '');
  await world.clock.advance(10_000);
  const later = await read();
  const cellsOf = ({ pipelines: rows }: PageModel) => rows.find(({ pipeline }) => pipeline === 'orders')!;
  expect(cellsOf(later).counts.settled).toBeLessThan(cellsOf(model).counts.settled);
  expect(cellsOf(later).cells.slice(0, 3_000)).toBe('s'.repeat(3_000));
});
