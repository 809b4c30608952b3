/** Two hosts that serve on one state in Postgres: both receive messages, one starts the runs, and when it is killed the other one does. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { addDays, dayAt } from '../../../src/core/days.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import type { Health } from '../../../src/serve/health.ts';
import { readSchedule, writeSchedule } from '../../../src/store/tables/scheduled.ts';
import { HANG_MS } from '../../support/hang.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { freePort } from '../../support/postgres.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { startServing } from '../../support/serving.ts';
import { startSubscription } from '../../support/states.ts';

const REPORTS = ['promotions', 'orders', 'commissions'];
const HOOK = 'https://shop.example';
const MS_PER_DAY = 86_400_000;
const MESSAGES = 20;

let database: Database;
let world: World;
let ports: readonly number[];
const serving: ChildProcess[] = [];

beforeEach(async () => {
  database = await freshDatabase();
  ports = [await freePort(), await freePort()];
  // The processes have the real clock, and the service its own zone.
  world = await openWorld({
    today: dayAt(Date.now(), 'Europe/Amsterdam'),
    lookbackDays: 4,
    windowDays: 2,
    ordersPerDay: 30,
    postgresUrl: database.url,
    settings: { targets: { duckdb: { enabled: false } }, serve: { port: 0 } },
    sandbox: {
      processSeconds: 0,
      pushRoutes: ports.map((port, i) => ({ from: `${HOOK}/${i}`, to: `http://127.0.0.1:${port}/push` })),
    },
    env: { PARTNER_ETL_STATE_URL: database.url },
  });
  world.sandbox.setNow(Date.now());
  world.clock.set(Date.now());
  const entry = { handled_until: new Date(Date.now() - 9 * MS_PER_DAY).toISOString(), last: null };
  await world.within(({ state }) => writeSchedule(state, Object.fromEntries(REPORTS.map((name) => [name, entry]))));
});
afterEach(async () => {
  for (const child of serving.splice(0))
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  await world.close();
  await database.drop();
});

interface Host {
  readonly child: ChildProcess;
  health(): Promise<{ readonly status: number; readonly says: Health }>;
}

/** The built program's `serve`, which receives on the port; resolves when it takes messages. */
async function startHost(port: number): Promise<Host> {
  const settings = parse(await readFile(world.env.PARTNER_ETL_CONFIG!, 'utf8')) as object;
  const file = path.join(world.home, `serve-${port}.yaml`);
  await writeFile(file, stringify({ ...settings, push: { port } }));
  const { child, health } = await startServing(world, (one) => serving.push(one), { PARTNER_ETL_CONFIG: file });
  return {
    child,
    async health() {
      const answer = await fetch(health);
      return { status: answer.status, says: (await answer.json()) as Health };
    },
  };
}

const eventually = (claim: () => Promise<void>) => vi.waitFor(claim, { timeout: HANG_MS, interval: 50 });

it('what is pushed to either is one row, and the one that stands by does the night of the one that is killed', async () => {
  for (const i of ports.keys()) await startSubscription(world, `${HOOK}/${i}`, ['SHIPMENT']);
  // The answer stops in the middle: the night of the first one lasts until that one is killed.
  world.sandbox.addFault({ endpoint: 'orders', kind: 'stall', bytes: 1000 });
  const first = await startHost(ports[0]!);
  await eventually(async () => expect(world.sandbox.stats.calls.orders ?? 0).toBeGreaterThan(0));
  const second = await startHost(ports[1]!);
  expect(await second.health()).toMatchObject({
    status: 200,
    says: { ready: true, receiving: true, standing_by: true, schedule: null },
  });
  expect((await first.health()).says).toMatchObject({ standing_by: false, schedule: { running: {} } });

  world.sandbox.change({ kind: 'shipment', count: MESSAGES });
  await world.sandbox.deliverDue({ concurrency: 4 });
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await eventually(async () => expect((await second.health()).says.standing_by).toBe(false));
  await eventually(async () => {
    const schedule = await world.within(({ state }) => readSchedule(state.db));
    expect(schedule?.orders?.last).toMatchObject({ result: 'done', tries: 2 });
  });
  const end = once(second.child, 'exit');
  second.child.kill('SIGTERM');
  expect(await end).toEqual([0, null]);

  world.clock.set(Date.now());
  expect((await world.night({ names: ['push-messages'] })).errors).toEqual([]);
  const counted = await world.within(({ targets }) =>
    targets[0]!.query(
      `SELECT count(*)::text, min(deliveries)::text, max(deliveries)::text FROM warehouse.fact_push_message WHERE resource = 'SHIPMENT'`,
      1,
    ),
  );
  expect(counted.rows).toEqual([[String(MESSAGES), '2', '2']]);
  const today = world.today();
  const days = { from: addDays(today, -4), to: addDays(today, -1) };
  expect(await world.differences(days, 'postgres')).toEqual([]);
  expect((await world.within(verify)).differences).toEqual([]);
}, 120_000);
