/** Remedies of what is no damage: a slice that is held, an inbox that is full, an object that is to be restored. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EtlError } from '../../../src/core/errors.ts';
import { InboxWriter } from '../../../src/serve/receiver/inbox-writer.ts';
import { ROW_BYTES } from '../../../src/store/tables/inbox.ts';
import { typedIn } from '../../cli/typed.ts';
import { delivery, layIn } from '../../support/inbox.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { follow } from './scene.ts';

/** For one message. */
const ROOM = delivery(1).body.length + ROW_BYTES;

let world: World;
beforeEach(async () => {
  world = await openWorld({
    ordersPerDay: 8,
    lookbackDays: 3,
    windowDays: 2,
    settings: {
      guards: { shrink: { minRows: 1 } },
      pipelines: { 'push-messages': { enabled: true } },
      push: { enabled: false },
    },
  });
  expect((await world.night()).errors).toEqual([]);
});
afterEach(() => world.close());

async function expectSound(): Promise<void> {
  const { code, out } = await typedIn(world, ['verify', '--deep', '--json']);
  expect([code, JSON.parse(out).differences]).toEqual([0, []]);
  expect(await world.differences(world.lookback())).toEqual([]);
}

it('a slice that shrank and is held, for who finds it right', async () => {
  const { to } = world.lookback();
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day: to, items: 1 });
  world.clock.set(world.clock.now() + 3_600_000);
  await world.night({ names: ['orders'] });
  expect(await world.differences(world.lookback())).not.toEqual([]);
  const { out } = await typedIn(world, ['explain', 'orders', to]);
  await follow(world, out, /partner-etl release orders \d{4}-\d{2}-\d{2}/g);
  await expectSound();
});

it('an inbox that is full', async () => {
  const hint = await world.within(async ({ state, clock, log }) => {
    const writer = await InboxWriter.open({ state, clock, log, mostBytes: ROOM });
    await writer.append(delivery(1));
    const refusal = await writer.append(delivery(2)).catch((error: unknown) => error);
    await writer.close();
    return refusal instanceof EtlError ? refusal.hint : '';
  });
  await follow(world, hint ?? '', /partner-etl run push-messages/g);
  await world.within(async ({ state, clock, log }) => {
    const writer = await InboxWriter.open({ state, clock, log, mostBytes: ROOM });
    await writer.append(delivery(2));
    await writer.close();
  });
  await follow(world, 'partner-etl run push-messages', /partner-etl run push-messages/g);
  const rows = await world.within(({ targets }) =>
    targets[0]!.query('SELECT resource_id FROM warehouse.fact_push_message ORDER BY 1', 10),
  );
  expect(rows.rows).toEqual([['1'], ['2']]);
  await expectSound();
});

it('an object of the raw store that is gone and cannot be asked for again, once it is back from a backup', async () => {
  await layIn(world.home, world.clock, [delivery(1)]);
  expect((await world.night({ names: ['push-messages'] })).errors).toEqual([]);
  const object = await world.within(async ({ raw }) => {
    for await (const { raw_path: at } of raw.fetches('push-messages'))
      if (at !== null) return path.join(world.home, at);
    throw new Error('nothing is stored');
  });
  const bytes = await readFile(object);
  await rm(object);
  const { code, out } = await typedIn(world, ['verify']);
  expect(code).toBe(1);
  expect(out).toMatch(/restore \S+ from a backup/);
  expect(object).toContain(/restore (\S+) from a backup/.exec(out)![1]);
  await writeFile(object, bytes);
  await expectSound();
});
