/** Messages, subscriptions, process statuses and links in both warehouses: the same rows, and views that show what is true. */
import { unlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRebuild } from '../../../src/run/again.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import type { TargetName } from '../../../src/warehouse/target-name.ts';
import { rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import {
  calling,
  deliver,
  deliverPushes,
  get,
  HOOK,
  HOUR,
  MINUTE,
  nightOf,
  openStateWorld,
  pass,
  processMessage,
  shipmentMessage,
  startSubscription,
} from '../../support/states.ts';
import { flawsIn, historyOf } from '../../support/versions.ts';

let database: Database;
let world: World;
beforeAll(async () => {
  database = await freshDatabase();
  world = await openStateWorld({ postgresUrl: database.url });
});
afterAll(async () => {
  await world.close();
  await database.drop();
});

const at = (column: string) => `CAST(extract(epoch FROM ${column}) AS DECIMAL(18, 3))`;
const VIEWS = [
  `SELECT id, url, CAST(resources AS text) LIKE '%SHIPMENT%', ${at('valid_from')}, fetch_id FROM warehouse.subscription`,
  `SELECT process_status_id, entity_id, event_type, description, status, error_message, ${at('create_timestamp')}, started_here, ${at('first_seen')},
     ${at('end_seen')}, end_seen_on, is_forgotten, fetch_id FROM mart.process`,
  'SELECT day, messages, deliveries, duplicates, out_of_order, late, missing FROM mart.push_day',
];
const views = (target: TargetName) => Promise.all(VIEWS.map(async (sql) => (await rowsOf(world, sql, target)).sort()));

async function expectTheSame(): Promise<void> {
  expect(await historyOf(world, { target: 'postgres' })).toEqual(await historyOf(world));
  expect(await views('postgres')).toEqual(await views('duckdb'));
  for (const target of ['duckdb', 'postgres'] as const) expect(await flawsIn(world, target)).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
}

const night = async () => expect((await nightOf(world)()).errors).toEqual([]);
const state = () =>
  rowsOf(
    world,
    'SELECT process_status_id, status, started_here, is_forgotten FROM mart.process ORDER BY 1',
    'postgres',
  );

it('both hold the same of nights with everything in them', async () => {
  const first = await startSubscription(world);
  pass(world, MINUTE);
  const url = `${HOOK}/é☃`;
  const second = await startSubscription(world, encodeURI(url), ['SHIPMENT']);
  world.sandbox.change({ kind: 'next-process', status: 'FAILURE', errorMessage: `it's "no" \\ ☃` });
  const third = await startSubscription(world, `${HOOK}/3`);
  pass(world, MINUTE);
  await world.sandbox.deliverDue();
  const told = await deliverPushes(world);
  await night();
  expect(await state()).toEqual([
    `${first} SUCCESS true false`,
    `${second} SUCCESS true false`,
    `${third} FAILURE true false`,
  ]);
  await expectTheSame();

  world.passDays(1);
  for (const id of ['S-1', 'S-2']) world.sandbox.change({ kind: 'shipment', shipmentId: id });
  await deliverPushes(world, told);
  await deliver(
    world,
    processMessage('77'),
    shipmentMessage('S-3', [get(`${world.sandbox.baseUrl}/retailer/shipments/S-3`)]),
  );
  await calling(world, (calls) => calls.remove('5002', () => undefined));
  pass(world, MINUTE);
  await night();
  await expectTheSame();
  const links = await rowsOf(
    world,
    'SELECT resource_id, outcome FROM warehouse.push_link_version ORDER BY 1',
    'postgres',
  );
  expect(links).toEqual(['S-1 found', 'S-2 found', 'S-3 not_found']);
  const active = await rowsOf(world, 'SELECT id, ended_by FROM warehouse.subscription_version ORDER BY id', 'postgres');
  expect(active).toEqual(['5001 -', '5002 gone']);
});

it('what never came is told on the day on which the end was seen, until it comes after all', async () => {
  const missing = async () => {
    const sql = 'SELECT day, missing FROM mart.push_day WHERE missing > 0 ORDER BY 1';
    return [await rowsOf(world, sql), await rowsOf(world, sql, 'postgres')];
  };
  expect(await missing()).toEqual([[], []]);
  const lost = await startSubscription(world, `${HOOK}/lost`);
  pass(world, HOUR);
  await night();
  // That, and the removal of the day before it, of which no message was delivered.
  expect(await state()).toContain(`${lost} SUCCESS true false`);
  expect(await missing()).toEqual([['2026-03-21 2'], ['2026-03-21 2']]);
  await deliver(world, processMessage(lost));
  await night();
  expect(await missing()).toEqual([['2026-03-21 1'], ['2026-03-21 1']]);
  await expectTheSame();
});

it('both made afresh from the lake are as they were', async () => {
  const before = [await historyOf(world), await views('duckdb')];
  await unlink(path.join(world.home, 'warehouse.duckdb'));
  expect((await world.within((context) => runRebuild(context, undefined))).errors).toEqual([]);
  expect([await historyOf(world), await views('duckdb')]).toEqual(before);
  await expectTheSame();
});
