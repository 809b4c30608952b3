/** The inbox becomes rows: each message once, whatever a run dies at, and again from the raw store. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { readDeliveries } from '../../../src/extract/stored-deliveries.ts';
import { runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { nightPlans } from '../../../src/run/plans.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { deliveryAt, layIn, waitingAt } from '../../support/inbox.ts';
import { monthFolder } from '../../support/lake-folders.ts';
import { rowsOf } from '../../support/lookups.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { forgetFetches } from '../../support/state.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const bodyOf = (id: string, timestamp: string, resource = 'PROCESS_STATUS') =>
  Buffer.from(
    `{"retailerId":1234567,"timestamp":"${timestamp}","event":{"resource":"${resource}","type":"SUCCESS","resourceId":"${id}","new":1.50}}`,
  );

/** Delivers messages: `[id, minutes after two in the morning of the day, day]`. */
async function deliver(...given: readonly (readonly [id: string, minute: number, day?: string])[]): Promise<void> {
  const deliveries = given.map(([id, minute, day = '2026-03-20']) =>
    deliveryAt(Date.parse(`${day}T02:00:00Z`) + minute * 60_000, bodyOf(id, '2026-03-20T02:59:59+01:00')),
  );
  await layIn(world.home, world.clock, deliveries);
}

const drain = (step?: (name: Step) => void) =>
  world.night({ names: ['push-messages'], ...(step ? { step: async (name) => step(name) } : {}) });

const MESSAGES = `SELECT resource_id, received_on, strftime(first_delivered_at, '%d %H:%M'), strftime(last_delivered_at, '%d %H:%M'), deliveries, extra
  FROM warehouse.fact_push_message ORDER BY 1`;
const messages = () => rowsOf(world, MESSAGES);
const EXTRA = '{"event":{"new":1.50}}';

describe('the inbox', () => {
  test('becomes a row a message, with its raw body in the raw store, and is empty then', async () => {
    await deliver(['b', 1], ['a', 2], ['b', 3]);
    const { exitCode, run } = await drain();
    expect([exitCode, run.summary]).toEqual([0, expect.objectContaining({ rows: 2, duplicates: 1, calls: 0 })]);
    expect(await messages()).toEqual([
      `a 2026-03-20 20 02:02 20 02:02 1 ${EXTRA}`,
      `b 2026-03-20 20 02:01 20 02:03 2 ${EXTRA}`,
    ]);
    expect(await waitingAt(world.home)).toEqual([]);
    const [row] = await rowsOf(
      world,
      `SELECT fetch_id, delivery_id FROM warehouse.fact_push_message WHERE resource_id = 'a'`,
    );
    const [fetchId, deliveryId] = row!.split(' ');
    const bodies = await world.within(async ({ raw }) => {
      const found: string[] = [];
      for await (const fetch of raw.fetches('push-messages'))
        if (fetch.fetch_id === fetchId)
          for await (const one of readDeliveries(raw.answer(fetch, true), 'it'))
            if (one.deliveryId === deliveryId) found.push(Buffer.from(one.body).toString());
      return found;
    });
    expect(bodies).toEqual([bodyOf('a', '2026-03-20T02:59:59+01:00').toString()]);
    expect(await rowsOf(world, `SELECT items, method FROM etl.fetch WHERE fetch_id = '${fetchId}'`)).toEqual([
      '3 POST',
    ]);
    expect((await world.within(verify)).differences).toEqual([]);
  });

  test('without anything in it changes nothing and calls nothing', async () => {
    await deliver(['a', 1]);
    await drain();
    const { run, published } = await drain();
    expect([run.summary?.slices_changed, published.map(({ result }) => result)]).toEqual([0, [null]]);
  });

  test('of several days gives each message the day of its first delivery', async () => {
    await deliver(['a', 1], ['b', 1]);
    await drain();
    world.passDays(1);
    await deliver(['a', 1, '2026-03-21'], ['c', 2, '2026-03-21']);
    await drain();
    expect(await messages()).toEqual([
      `a 2026-03-20 20 02:01 21 02:01 2 ${EXTRA}`,
      `b 2026-03-20 20 02:01 20 02:01 1 ${EXTRA}`,
      `c 2026-03-21 21 02:02 21 02:02 1 ${EXTRA}`,
    ]);
    expect(await rowsOf(world, 'SELECT day, messages, deliveries, duplicates FROM mart.push_day ORDER BY 1')).toEqual([
      '2026-03-20 2 2 0',
      '2026-03-21 1 2 1',
    ]);
  });

  test.each<Step>(['run-recorded', 'answer-received', 'normalised', 'lake-committed', 'publishing', 'published'])(
    'when a run dies at "%s" is taken in by the next one, and nothing twice',
    async (at) => {
      await deliver(['a', 1], ['b', 2], ['a', 3]);
      await deliver(['a', 4], ['c', 5]);
      let isDead = false;
      const die = (name: Step) => {
        if (name !== at || isDead) return;
        isDead = true;
        throw new Error('killed');
      };
      await drain(die).catch(() => undefined);
      expect(isDead).toBe(true);
      world.clock.set(world.clock.now() + 1000);
      expect((await drain()).exitCode).toBe(0);
      expect(await messages()).toEqual([
        `a 2026-03-20 20 02:01 20 02:04 3 ${EXTRA}`,
        `b 2026-03-20 20 02:02 20 02:02 1 ${EXTRA}`,
        `c 2026-03-20 20 02:05 20 02:05 1 ${EXTRA}`,
      ]);
      expect((await world.within(verify)).differences).toEqual([]);
    },
  );

  test('is taken in as it was when the run came to it; what comes meanwhile waits for the next one', async () => {
    await deliver(['a', 1]);
    let hasCome = false;
    await world.night({
      names: ['push-messages'],
      step: async (name) => {
        if (name === 'answer-received' && !hasCome) await deliver(['b', 2]);
        hasCome ||= name === 'answer-received';
      },
    });
    expect(await messages()).toEqual([`a 2026-03-20 20 02:01 20 02:01 1 ${EXTRA}`]);
    await drain();
    expect(await messages()).toHaveLength(2);
  });

  test('that a run died on and that has grown since stands in two answers of the raw store, and once in the rows', async () => {
    await deliver(['a', 1]);
    const die = (name: Step) => {
      if (name === 'lake-committed') throw new Error('killed');
    };
    await drain(die).catch(() => undefined);
    await deliver(['b', 2]);
    world.clock.set(world.clock.now() + 1000);
    expect((await drain()).run.summary).toMatchObject({ rows: 1, duplicates: 1 });
    expect(await rowsOf(world, 'SELECT items, outcome FROM etl.fetch ORDER BY 1')).toEqual(['1 ok', '2 ok']);
    expect(await messages()).toHaveLength(2);
    const before = await rowsOf(world, 'SELECT * EXCLUDE (loaded_at) FROM warehouse.push_delivery ORDER BY ALL');
    const range = { from: '2026-03-20' as Day, to: '2026-03-20' as Day };
    await world.within((context) => runReplay(context, 'push-messages', range));
    expect(await rowsOf(world, 'SELECT * EXCLUDE (loaded_at) FROM warehouse.push_delivery ORDER BY ALL')).toEqual(
      before,
    );
  });

  test('is told of by plan, without a call and without credentials', async () => {
    await deliver(['a', 1], ['b', 2]);
    const [plan] = await world.within((context) =>
      nightPlans(
        context,
        context.pipelines.filter(({ name }) => name === 'push-messages'),
      ),
    );
    expect(plan).toMatchObject({
      calls: 0,
      isDue: true,
      details: { inbox: { messages: 2, bytes: expect.any(Number) } },
    });
  });
});

describe('a replay of messages', () => {
  const replay = (from: string) =>
    world.within((context) => runReplay(context, 'push-messages', { from: from as Day, to: '2026-03-21' as Day }));
  const everything = () => rowsOf(world, 'SELECT * EXCLUDE (loaded_at) FROM warehouse.fact_push_message ORDER BY ALL');

  beforeEach(async () => {
    await deliver(['a', 1], ['b', 1], ['b', 2]);
    await drain();
    world.passDays(1);
    await deliver(['a', 1, '2026-03-21'], ['c', 2, '2026-03-21']);
    await drain();
  });

  test.each(['2026-03-20', '2026-03-21'])('from %s changes nothing where nothing is wrong', async (from) => {
    const before = await everything();
    expect((await replay(from)).run.summary).toMatchObject({ slices_changed: 0 });
    expect(await everything()).toEqual(before);
  });

  test.each(['2026-03-20', '2026-03-21'])('from %s fixes what was lost of the lake', async (from) => {
    const before = await everything();
    const month = monthFolder(world.home, 'push-messages', '2026-03-01');
    const lost = (await readdir(month)).filter((name) => name.startsWith(from) && name.endsWith('.parquet'));
    expect(lost).toHaveLength(1);
    await rm(path.join(month, lost[0]!));
    expect((await world.within(verify)).differences).not.toEqual([]);
    expect((await replay(from)).exitCode).toBe(0);
    expect((await world.within(verify)).differences).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('of which the raw store has nothing changes nothing and says what is missing', async () => {
    const before = await everything();
    await forgetFetches(world.home, 'push-messages');
    expect((await replay('2026-03-20')).errors.map(({ code }) => code)).toEqual(['nothing_stored']);
    expect(await everything()).toEqual(before);
  });
});
