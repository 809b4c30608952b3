/** Nights of the list of push subscriptions: what came, changed and went, and what is no list. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runRelease, runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { estimatePlans } from '../../../src/run/estimate.ts';
import { chosenPipelines } from '../../../src/run/night.ts';
import { nightPlans } from '../../../src/run/plans.ts';
import { explain } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { rowsOf } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';
import {
  calling,
  HOOK,
  HOUR,
  MINUTE,
  openStateWorld,
  pass,
  startSubscription,
  subscribe,
} from '../../support/states.ts';
import { flawsIn } from '../../support/versions.ts';

let world: World;
beforeEach(async () => {
  world = await openStateWorld({ guards: { shrink: { minRows: 3, keepRatio: 0.5 } } });
});
afterEach(() => world.close());

const night = (options = {}) => world.night({ names: ['subscriptions'], ...options });
const state = () => rowsOf(world, 'SELECT id, url, resources FROM warehouse.subscription ORDER BY id');
const versions = () =>
  rowsOf(world, 'SELECT id, url, ended_by FROM warehouse.subscription_version ORDER BY id, valid_from');
const change = (id: string, resources: readonly string[], url = HOOK) =>
  calling(world, (calls) => calls.update({ id, idJson: id, url, resources }, () => undefined));
const remove = (id: string) => calling(world, (calls) => calls.remove(id, () => undefined));
const BOTH = '["PROCESS_STATUS","SHIPMENT"]';

describe('a night of the list', () => {
  it('holds what is listed; the same again, in another order, writes nothing', async () => {
    await subscribe(world);
    await subscribe(world, `${HOOK}/2`, ['SHIPMENT']);
    expect(await night()).toMatchObject({ exitCode: 0, errors: [], run: { summary: { calls: 1, rows: 2 } } });
    expect(await state()).toEqual([`5001 ${HOOK} ${BOTH}`, `5002 ${HOOK}/2 ["SHIPMENT"]`]);
    await change('5001', ['SHIPMENT', 'PROCESS_STATUS']);
    pass(world, MINUTE);
    expect((await night()).run.summary).toMatchObject({ calls: 1, slices_changed: 0 });
    expect(await versions()).toEqual([`5001 ${HOOK} -`, `5002 ${HOOK}/2 -`]);
    expect(await world.within(verify)).toMatchObject({ answers: 1, differences: [] });
  });

  it('adds what came, and keeps what changed and went in the history', async () => {
    await subscribe(world);
    await subscribe(world, `${HOOK}/2`);
    await night();
    world.passDays(1);
    await change('5001', ['SHIPMENT']);
    await remove('5002');
    await subscribe(world, `${HOOK}/3`);
    await night();
    expect(await state()).toEqual([`5001 ${HOOK} ["SHIPMENT"]`, `5003 ${HOOK}/3 ${BOTH}`]);
    expect(await versions()).toEqual([
      `5001 ${HOOK} changed`,
      `5001 ${HOOK} -`,
      `5002 ${HOOK}/2 gone`,
      `5003 ${HOOK}/3 -`,
    ]);
    expect(await flawsIn(world)).toEqual([]);
  });

  it('without any on the list: all are gone', async () => {
    await subscribe(world);
    await night();
    await remove('5001');
    pass(world, MINUTE);
    expect(await night()).toMatchObject({ exitCode: 0, run: { summary: { rows: 0, slices_changed: 2 } } });
    expect(await state()).toEqual([]);
    expect(await versions()).toEqual([`5001 ${HOOK} gone`]);
  });

  it.each([
    ['of the newest version, whose ids are texts', 'v10'],
    ['of the oldest, whose ids are numbers', 'v4'],
  ])('%s, has the same ids', async (_, version) => {
    await world.close();
    world = await openStateWorld({ service: { retailer: { version } } });
    await subscribe(world);
    await night();
    expect(await state()).toEqual([`5001 ${HOOK} ${BOTH}`]);
  });
});

describe('an answer that is no list', () => {
  it.each([
    ['a page', { kind: 'html', times: 10 }],
    ['an answer that breaks off', { kind: 'cut', bytes: 20, times: 10 }],
  ])('%s is an error and changes nothing', async (_, fault) => {
    await subscribe(world);
    await night();
    const before = await versions();
    pass(world, HOUR);
    world.sandbox.addFault({ endpoint: 'subscription-list', ...fault } as never);
    const outcome = await night();
    expect(outcome).toMatchObject({ exitCode: 1, errors: [{ concern: { pipeline: 'subscriptions' } }] });
    expect(await versions()).toEqual(before);
    world.sandbox.clearFaults();
    expect((await night()).exitCode).toBe(0);
    expect(await versions()).toEqual(before);
  });

  it('such as something else in JSON, is an error that says where it lies, and changes nothing', async () => {
    await subscribe(world);
    await night();
    const before = await versions();
    pass(world, HOUR);
    const file = path.join(world.home, 'settings.yaml');
    const { service, ...settings } = parse(await readFile(file, 'utf8'));
    const retailer = { subscriptions: { path: '/retailer/subscriptions/signature-keys' } };
    await writeFile(file, stringify({ ...settings, service: { ...service, retailer } }));
    const outcome = await night();
    expect(outcome).toMatchObject({ exitCode: 1, errors: [{ kind: 'failed', code: 'no_subscriptions' }] });
    expect(await readFile(String(outcome.errors[0]?.concern.file), 'utf8')).toContain('signatureKeys');
    expect(await versions()).toEqual(before);
  });
});

describe('a list that has suddenly lost most', () => {
  it('is held; a release applies it, and so would a newer list', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await subscribe(world, `${HOOK}/${name}`);
    await night();
    for (const id of ['5001', '5002', '5003']) await remove(id);
    pass(world, HOUR);
    expect(await night()).toMatchObject({ exitCode: 3, run: { summary: { slices_held: 1 } } });
    const active = () => rowsOf(world, 'SELECT id FROM warehouse.subscription ORDER BY id');
    expect(await active()).toEqual(['5001', '5002', '5003', '5004']);
    const [hold] = (await world.within(statusOf)).holds;
    expect(hold).toMatchObject({ pipeline: 'subscriptions', reason: 'shrunk', rows_before: 4 });
    const range = { from: world.today(), to: world.today() };
    expect((await world.within((context) => runReplay(context, 'subscriptions', range))).errors).toEqual([]);
    expect(await active()).toEqual(['5001', '5002', '5003', '5004']);
    const release = await world.within((context) => runRelease(context, 'subscriptions', hold!.slice_day));
    expect(release).toMatchObject({ exitCode: 0, errors: [] });
    expect(await active()).toEqual(['5004']);
    expect(await flawsIn(world)).toEqual([]);
  });
});

describe('what was stored', () => {
  it('makes the same history again in a replay, without a call, also where the lake was lost', async () => {
    const first = world.today();
    for (const name of ['a', 'b', 'c']) {
      await subscribe(world, `${HOOK}/${name}`);
      await night();
      world.passDays(1);
    }
    await remove('5002');
    pass(world, MINUTE);
    await night();
    const table = 'SELECT * EXCLUDE (loaded_at) FROM warehouse.subscription_version ORDER BY ALL';
    const [before, calls] = [await rowsOf(world, table), world.sandbox.stats.calls['subscription-list']];
    expect(before).toHaveLength(3);
    const range = { from: first, to: world.today() };
    const replay = () => world.within((context) => runReplay(context, 'subscriptions', range));
    expect(await replay()).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
    await loseLake(world.home, 'subscriptions');
    expect((await replay()).errors).toEqual([]);
    expect(await rowsOf(world, table)).toEqual(before);
    expect(world.sandbox.stats.calls['subscription-list']).toBe(calls);
    expect((await world.within((context) => explain(context, 'subscriptions', first))).fetch_count).toBe(1);
  });

  it.each<Step>(['answer-received', 'normalised', 'lake-committed', 'publishing'])(
    'by a run that died at "%s" is in the way of nothing: the next one asks again',
    async (at) => {
      await subscribe(world);
      const died = await night({
        step: (name: Step) => {
          if (name === at) throw new Error('no more');
        },
      }).catch((error: unknown) => error);
      expect(died).toBeDefined();
      pass(world, MINUTE);
      expect((await night()).errors).toEqual([]);
      expect(await state()).toEqual([`5001 ${HOOK} ${BOTH}`]);
      expect(await flawsIn(world)).toEqual([]);
    },
  );
});

describe('plan and status', () => {
  const plan = () =>
    world.within(async (context) =>
      estimatePlans(context, await nightPlans(context, chosenPipelines(context, ['subscriptions']))),
    );
  const status = async () =>
    (await world.within(statusOf)).pipelines.find(({ pipeline }) => pipeline === 'subscriptions');

  it('say that the list is asked for every night, and when it last was', async () => {
    await startSubscription(world);
    pass(world, MINUTE);
    expect(await plan()).toMatchObject({
      calls: 1,
      pipelines: [{ pipeline: 'subscriptions', calls: 1, list: { asked_at: null } }],
    });
    expect((await plan()).minutes).toBeCloseTo(1 / 5 / 60);
    expect(await status()).toMatchObject({ newest: null, lookups: { outcomes: {}, asked_at: null } });
    await night();
    const askedAt = new Date(world.clock.now()).toISOString();
    expect((await plan()).pipelines[0]?.list).toEqual({ asked_at: askedAt });
    expect(await status()).toMatchObject({
      newest: world.today(),
      days_behind: 0,
      rows: 1,
      lookups: { outcomes: { listed: 1 }, asked_at: askedAt },
    });
  });
});
