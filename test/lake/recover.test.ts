/** A lake whose table is lost, or older than its files. */
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import type { Day } from '../../src/core/days.ts';
import type { SliceEntry, Slices } from '../../src/core/slices.ts';
import { Engine } from '../../src/engine/duckdb.ts';
import { type Recovered, recoverSlices } from '../../src/lake/recover.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import { readSlices } from '../../src/store/tables/slices.ts';
import { openWorld, type World } from '../support/nights.ts';

let world: World;
let state: State;
let engine: Engine;
let before: ReadonlyMap<string, Slices>;
/** Of a day on which an item was refused, and of one that is held. */
let [rejected, held]: Day[] = [];

beforeAll(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2, ordersPerDay: 30 });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'missing-field', item: 3, field: 'orderItemId' });
  await world.night();
  world.passDays(1);
  held = world.lookback().from;
  world.sandbox.change({ kind: 'shrink-day', report: 'promotions', day: held, items: 1 });
  await world.night({ names: ['promotions'] });
  state = await openSqliteState(path.join(world.home, 'state.db'));
  engine = await Engine.open({ tempDir: path.join(world.home, 'work', 'spill') });
  before = await readSlices(state.db);
  rejected = [...before.get('orders')!.values()].find(({ content }) => content.rejects > 0)!.content.day;
});
afterAll(async () => {
  engine.close();
  await state.close();
  await world.close();
});

const lose = () =>
  state.write(async (tx) => {
    for (const table of ['slice', 'hold'] as const) await tx.deleteFrom(table).execute();
  });
const recover = (): Promise<Recovered> => recoverSlices({ root: world.home, state, engine, pipelines });
const at = (file: string | null) => path.join(world.home, file!);
const entryOf = (pipeline: string, day: Day, all = before) => all.get(pipeline)!.get(day)!;
/** As the files can tell it. */
const asFound = ({ held: kept, ...entry }: SliceEntry): SliceEntry => {
  const words = {
    detail: expect.any(String),
    rows_before: entry.content.rows,
    held_at: kept?.content.fetched_at ?? '',
  };
  return { ...entry, checked: null, held: kept && { ...kept, ...words } };
};

beforeEach(async () => {
  await lose();
  await recover();
});

it('every slice is found again as it was, with its rejects and what is held of it', async () => {
  expect(entryOf('orders', rejected!).rejects_file).not.toBeNull();
  expect(entryOf('promotions', held!).held).not.toBeNull();
  const found = await readSlices(state.db);
  expect([...found.keys()]).toEqual([...before.keys()]);
  for (const [pipeline, slices] of before)
    expect([...found.get(pipeline)!.values()]).toEqual([...slices.values()].map(asFound));
});

it('what the table has stays as it is', async () => {
  const found = await readSlices(state.db);
  expect(await recover()).toEqual({ slices: [], lost: [], unproved: [] });
  expect(await readSlices(state.db)).toEqual(found);
});

it('a row that names a file which a newer one has replaced gives way to it', async () => {
  const { content, file } = entryOf('orders', rejected!);
  const old = { digest: '0'.repeat(32), file: file!.replace(content.digest.slice(0, 12), '0'.repeat(12)) };
  await state.write((tx) => tx.updateTable('slice').set(old).where('digest', '=', content.digest).execute());
  expect(await recover()).toMatchObject({ slices: [{ pipeline: 'orders', day: rejected }] });
  expect(entryOf('orders', rejected!, await readSlices(state.db)).content).toEqual(content);
});

it('a row whose file is gone goes, so that its day is asked for again', async () => {
  const day = [...before.get('commissions')!.keys()][0]!;
  const { file } = entryOf('commissions', day);
  await rename(at(file), `${at(file)}.away`);
  expect(await recover()).toEqual({ slices: [], lost: [{ pipeline: 'commissions', day }], unproved: [] });
  expect((await readSlices(state.db)).get('commissions')!.has(day)).toBe(false);
  await rename(`${at(file)}.away`, at(file));
});

it.each<[string, (file: string, other: string) => Promise<void>]>([
  ['cut off', async (file) => writeFile(file, (await readFile(file)).subarray(0, 100))],
  ['of other content', (file, other) => copyFile(other, file)],
])('a file that is %s is named, and its day is missing', async (_, damage) => {
  const days = [...before.get('orders')!.keys()].filter((day) => day !== rejected);
  const { file } = entryOf('orders', days[0]!);
  const whole = await readFile(at(file));
  await damage(at(file), at(entryOf('orders', days[1]!).file));
  await lose();
  expect((await recover()).unproved).toEqual([file]);
  expect([...(await readSlices(state.db)).get('orders')!.keys()]).not.toContain(days[0]);
  await writeFile(at(file), whole);
});

it('of two contents of a day, which a crash has left, the newest counts, and the day is asked for again', async () => {
  const entry = entryOf('promotions', held!);
  const beside = entry.held!.file!.replace(/^held/, 'lake');
  await copyFile(at(entry.held!.file), at(beside));
  await lose();
  await recover();
  expect(entryOf('promotions', held!, await readSlices(state.db))).toMatchObject({
    content: entry.held!.content,
    moved: true,
    held: null,
  });
  await rm(at(beside));
});
