/** An installation that is damaged, asked, and repaired by the command that it prints, which must bring every row back. */
import { truncate } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { storedColumns } from '../../../src/core/pipeline.ts';
import { Engine } from '../../../src/engine/duckdb.ts';
import { typedIn } from '../../cli/typed.ts';
import { listEans, openLookupWorld } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

/** Who brought a row and since when it is so: another answer that says the same may do it. */
const NOTED = ['fetch_id', 'valid_from'];

export interface Remedy {
  readonly name: string;
  readonly damage: (world: World) => Promise<unknown>;
  /** What is asked then, as it is typed; dates of the world stand for FIRST and LAST. */
  readonly ask: string;
  /** What of its output is run, one after the other. */
  readonly prints: RegExp;
  /** Rows are other ones than before on purpose. */
  readonly isNews?: boolean;
}

/** Two nights, between which an order changed, of reports, rates, products and reductions. */
export async function openScene(): Promise<World> {
  const world = await openLookupWorld({
    ...{ rates: {}, products: {}, reductions: {}, ordersPerDay: 8, lookbackDays: 4, windowDays: 2 },
  });
  const eans = world.sandbox.eans(3);
  await listEans(world, eans);
  const values = { maximumPrice: '10.25', costReduction: '1.10', startDate: '2026-03-01', endDate: '2026-12-31' };
  world.sandbox.change({ kind: 'commission-reductions', ean: eans[0]!, reductions: [values] });
  expect((await world.night()).errors).toEqual([]);
  world.sandbox.change({
    kind: 'restate-item',
    ...world.itemOn(world.lookback().from),
    values: { commission: '7.77' },
  });
  world.clock.set(world.clock.now() + 3_600_000);
  expect((await world.night()).errors).toEqual([]);
  return world;
}

/** All rows that the warehouse has, of every pipeline. */
export function rowsOf(world: World): Promise<string> {
  return world.within(async ({ targets, pipelines }) => {
    const rows: unknown[] = [];
    for (const pipeline of pipelines) {
      const names = storedColumns(pipeline).flatMap(({ column }) => (NOTED.includes(column) ? [] : `"${column}"`));
      const sql = `SELECT ${names.join(', ')} FROM warehouse.${pipeline.table} ORDER BY ALL`;
      rows.push(pipeline.name, (await targets[0]!.query(sql, 1_000_000)).rows);
    }
    return JSON.stringify(rows);
  });
}

/** Types what the text names, once each: some command must be named, and each must end with 0. */
export async function follow(world: World, said: string, prints: RegExp): Promise<void> {
  const fixes = [...new Set([...said.matchAll(prints)].map(([found]) => found))];
  expect(fixes, said).not.toEqual([]);
  for (const fix of fixes) {
    world.clock.set(world.clock.now() + 60_000);
    const { code, out, err } = await typedIn(world, fix.split(' ').slice(1));
    expect(code, `${fix}\n${out}\n${err}`).toBe(0);
  }
}

/** Damages, asks, runs what is printed, and compares. */
export async function expectRemedy(world: World, remedy: Remedy, sound: string): Promise<void> {
  const { from, to } = world.lookback();
  await remedy.damage(world);
  const words = remedy.ask.replace('FIRST', from).replace('LAST', to).split(' ');
  const asked = await typedIn(world, words);
  await follow(world, `${asked.out}\n${asked.err}`, remedy.prints);
  const { code, out } = await typedIn(world, ['verify', '--deep', '--json']);
  expect([code, JSON.parse(out).differences, JSON.parse(out).warnings]).toEqual([0, [], []]);
  if (!remedy.isNews) expect(await rowsOf(world)).toBe(sound);
}

/** Cuts the rows of the first slice, or of that of a day, off that the pipeline has rows of. */
export async function cutSlice(world: World, name: string, day?: string): Promise<void> {
  const file = await world.within(async ({ lake }) => {
    const slices = [...(await lake.slices(name)).values()];
    const entry = slices.find(({ file, content }) => file !== null && (day === undefined || content.day === day));
    return lake.rowsFile(entry!)!;
  });
  await truncate(file, 300);
}

/** The stored answers of a pipeline, as files. */
export async function answersOf(world: World, name: string): Promise<string[]> {
  return world.within(async ({ raw }) => {
    const files = new Set<string>();
    for await (const { raw_path: at } of raw.fetches(name))
      if (at !== null) files.add(path.join(world.home, at.split('#')[0]!));
    return [...files];
  });
}

export async function inWarehouse(world: World, ...statements: string[]): Promise<void> {
  const engine = await Engine.open({
    file: path.join(world.home, 'warehouse.duckdb'),
    tempDir: path.join(world.home, 'work', 'damage'),
  });
  for (const sql of statements) await engine.run(sql);
  engine.close();
}
