/** Nights of links: which addresses in push messages are followed, how often, and what becomes of the answers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { estimatePlans } from '../../../src/run/estimate.ts';
import { chosenPipelines } from '../../../src/run/night.ts';
import { nightPlans } from '../../../src/run/plans.ts';
import { listRejects } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { rowsOf } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';
import { forgetAskedKeys } from '../../support/state.ts';
import {
  deliver,
  deliverPushes,
  get,
  HOUR,
  MINUTE,
  nightOf,
  openStateWorld,
  pass,
  shipmentMessage,
  subscribe,
} from '../../support/states.ts';
import { flawsIn } from '../../support/versions.ts';

let world: World;
beforeEach(async () => {
  world = await openStateWorld();
});
afterEach(() => world.close());

const LINKS = 'push-links';
const night = (...names: readonly string[]) => nightOf(world)(...names);
const below = (place: string) => `${world.sandbox.baseUrl}${place}`;
const shipment = (id: string) => below(`/retailer/shipments/${id}`);
const ship = (shipmentId: string, count = 1) => world.sandbox.change({ kind: 'shipment', shipmentId, count });
const asked = () => world.sandbox.stats.calls.shipment ?? 0;
const versions = () =>
  rowsOf(
    world,
    `SELECT resource, resource_id, outcome, json_extract_string(payload, '$.transport.status'), valid_to IS NULL FROM warehouse.push_link_version ORDER BY href, valid_from`,
  );
const plan = async () => {
  const estimate = await world.within(async (context) =>
    estimatePlans(context, await nightPlans(context, chosenPipelines(context, [LINKS]))),
  );
  return estimate.pipelines[0];
};
const timestamp = (minute: number) => `2026-03-20T02:${String(minute).padStart(2, '0')}:00+01:00`;

describe('a link of a message', () => {
  it('is followed, and what lies there is kept as it was sent, members in alphabetical order', async () => {
    ship('S-1');
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))]));
    pass(world, 1000);
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect(await versions()).toEqual(['SHIPMENT S-1 found PRE_ANNOUNCED true']);
    const [row] = await rowsOf(world, 'SELECT href, payload, reason FROM warehouse.push_link_version');
    expect(row).toMatch(
      new RegExp(
        `^${shipment('S-1')} \\{"shipmentId":"S-1","transport":\\{"events":.*,"status":.*,"transporterCode":"TNT"\\}\\} -$`,
      ),
    );
    expect(await world.within(verify)).toMatchObject({ differences: [] });
  });

  it('is followed once a message; what changed is a new version, what did not is none', async () => {
    await subscribe(world);
    await night();
    let told = world.sandbox.pushes().length;
    for (const calls of [1, 2, 3, 4, 5]) {
      ship('S-1');
      told = await deliverPushes(world, told);
      pass(world, MINUTE);
      await night();
      await night();
      expect(asked()).toBe(calls);
      pass(world, HOUR);
    }
    expect(await versions()).toEqual([
      'SHIPMENT S-1 found PRE_ANNOUNCED false',
      'SHIPMENT S-1 found AT_TRANSPORTER false',
      'SHIPMENT S-1 found IN_TRANSIT false',
      'SHIPMENT S-1 found DELIVERED_AT_CUSTOMER false',
      'SHIPMENT S-1 found DELIVERED_AT_CUSTOMER true',
    ]);
    expect(await flawsIn(world)).toEqual([]);
  });

  it('that leads to what does not change writes nothing, and is not followed again for the same message', async () => {
    await subscribe(world);
    const list = below('/retailer/subscriptions');
    for (const minute of [1, 2, 3]) {
      await deliver(world, shipmentMessage('S-1', [get(list)], timestamp(minute)));
      pass(world, MINUTE);
      await night('push-messages', LINKS);
      await night('push-messages', LINKS);
    }
    expect(world.sandbox.stats.calls['subscription-list']).toBe(3);
    expect(await rowsOf(world, 'SELECT outcome FROM warehouse.push_link_version')).toEqual(['found']);
  });

  it('of many messages is followed once a night', async () => {
    ship('S-1');
    await deliver(
      world,
      ...[1, 2, 3].map((minute) => shipmentMessage('S-1', [get(shipment('S-1'))], timestamp(minute))),
    );
    pass(world, MINUTE);
    expect((await night(...['push-messages', LINKS])).run.summary).toMatchObject({ calls: 1 });
  });

  it('of a message about a process is not followed here', async () => {
    await subscribe(world);
    await deliverPushes(world);
    pass(world, MINUTE);
    await night();
    expect(await versions()).toEqual([]);
  });

  it.each([
    ['to another host', () => get('https://elsewhere.example.org/retailer/shipments/1')],
    ['to another port', () => get('http://127.0.0.1:1/retailer/shipments/1')],
    ['with credentials', () => get(shipment('1').replace('//', '//a:b@'))],
    ['up and away', () => get(below('/retailer/..%2f..%2fshipments'))],
    ['to no address', () => get('shipments/1')],
    ['with another method', () => ({ method: 'POST', href: shipment('1') })],
  ])('%s is not called, and told where it leads away', async (_, link) => {
    const { method, href } = link();
    await deliver(world, shipmentMessage('S-1', [{ method, href }]));
    pass(world, MINUTE);
    expect(await plan()).toMatchObject({ calls: 0 });
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect(asked()).toBe(0);
    const { drift } = await world.within(statusOf);
    const told = drift
      .filter(({ pipeline }) => pipeline === LINKS)
      .map(({ kind, field, example }) => [kind, field, example]);
    expect(told).toEqual(method === 'GET' ? [['foreign_link', 'links', href]] : []);
  });

  it('that was left behind for more than three days is not followed', async () => {
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))]));
    await night('push-messages');
    world.passDays(4);
    await night();
    expect(asked()).toBe(0);
  });
});

describe('a message that comes while its link is being followed', () => {
  it('has the link followed once more: what was seen may be older than the message', async () => {
    ship('S-1');
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))], timestamp(1)));
    pass(world, MINUTE);
    await night();
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))], timestamp(2)));
    pass(world, MINUTE);
    await night();
    await night();
    expect(asked()).toBe(2);
  });
});

describe('what tells nothing', () => {
  it.each([
    [404, 'not_found'],
    [410, 'not_found'],
    [400, 'refused'],
    [406, 'refused'],
    [409, 'refused'],
  ])('%s is a row with the reason, and is not asked for again', async (status, outcome) => {
    ship('S-1');
    world.sandbox.addFault({ endpoint: 'shipment', kind: 'status', status });
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))]));
    pass(world, MINUTE);
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect(await rowsOf(world, 'SELECT outcome, payload, reason IS NOT NULL FROM warehouse.push_link_version')).toEqual(
      [`${outcome} - true`],
    );
    pass(world, HOUR);
    await night();
    expect(asked()).toBe(1);
  });

  it('such as a page is set aside, once, and is not asked for again before another message comes', async () => {
    ship('S-1');
    world.sandbox.addFault({ endpoint: 'shipment', kind: 'html', times: 2 });
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))]));
    pass(world, MINUTE);
    const first = await night();
    expect(first.errors).toEqual([]);
    expect(first).toMatchObject({ exitCode: 3, run: { summary: { rejects: 1 } } });
    const [reject] = await world.within((context) => listRejects(context, LINKS, 10));
    expect(reject).toMatchObject({ reason: 'not_json', detail: 'payload' });
    expect(reject?.raw).toContain('<');
    pass(world, HOUR);
    expect((await night()).exitCode).toBe(0);
    expect(asked()).toBe(1);
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))], timestamp(30)));
    pass(world, MINUTE);
    expect((await night()).exitCode).toBe(3);
    expect(await world.within((context) => listRejects(context, LINKS, 10))).toEqual([reject]);
  });

  it('since the service is ill, is asked for by the next night', async () => {
    ship('S-1');
    world.sandbox.addFault({ endpoint: 'shipment', kind: 'status', status: 500, times: 4 });
    await deliver(world, shipmentMessage('S-1', [get(shipment('S-1'))]));
    pass(world, MINUTE);
    expect((await night()).exitCode).toBe(1);
    expect((await night()).exitCode).toBe(0);
    expect(await versions()).toEqual(['SHIPMENT S-1 found PRE_ANNOUNCED true']);
  });
});

/** The number that a reject has among the answers taken in with it says nothing. */
const rejects = async () =>
  (await world.within((context) => listRejects(context, LINKS, 10))).map(({ item: _, ...reject }) => reject);

describe('a night', () => {
  const many = async (count: number) => {
    const ids = Array.from({ length: count }, (_, i) => `S-${i}`);
    for (const id of ids) ship(id);
    for (const id of ids) {
      await deliver(world, shipmentMessage(id, [get(shipment(id))]));
      pass(world, 1000);
    }
    pass(world, MINUTE);
    await night('push-messages');
    return ids;
  };

  it('makes no more calls than its budget, for the newest messages first, and tells what it left out', async () => {
    await world.close();
    world = await openStateWorld({ links: { callsPerNight: 2 } });
    await many(5);
    await deliver(world, shipmentMessage('S-9', [get('https://elsewhere.example.org/')]));
    await night('push-messages');
    expect(await plan()).toMatchObject({ calls: 2, following: { due: { linked: 5 }, left_out: 3 } });
    const seen = () => rowsOf(world, 'SELECT resource_id FROM warehouse.push_link_version ORDER BY resource_id');
    expect((await night(LINKS)).run.summary).toMatchObject({ calls: 2, left_out: 3 });
    expect(await seen()).toEqual(['S-3', 'S-4']);
    await night(LINKS);
    await night(LINKS);
    expect(await seen()).toEqual(['S-0', 'S-1', 'S-2', 'S-3', 'S-4']);
  });

  it.each<Step>(['answer-received', 'normalised', 'lake-committed', 'publishing', 'published'])(
    'that dies at "%s" is carried on by the next one, and nothing is asked for twice',
    async (at) => {
      await many(3);
      const step = (name: Step) => {
        if (name === at) throw new Error('no more');
      };
      await world.night({ names: [LINKS], step }).catch(() => undefined);
      pass(world, MINUTE);
      expect((await night(LINKS)).errors).toEqual([]);
      expect(await versions()).toEqual(['S-0', 'S-1', 'S-2'].map((id) => `SHIPMENT ${id} found PRE_ANNOUNCED true`));
      expect(await flawsIn(world)).toEqual([]);
      expect(asked()).toBe(3);
    },
  );

  it('after which all memory aids are lost asks once more, and changes nothing', async () => {
    await many(3);
    await night(LINKS);
    const before = await versions();
    await forgetAskedKeys(world.home);
    pass(world, MINUTE);
    expect((await night(LINKS)).run.summary).toMatchObject({ calls: 3, slices_changed: 0 });
    expect((await night(LINKS)).run.summary).toMatchObject({ calls: 0 });
    expect(await versions()).toEqual(before);
  });

  it('is made again by a replay, also where the lake is lost', async () => {
    const first = world.today();
    await many(2);
    await night(LINKS);
    world.passDays(1);
    ship('S-0');
    for (const id of ['S-0', 'S-1']) {
      await deliver(world, shipmentMessage(id, [get(shipment(id))], timestamp(30)));
      pass(world, MINUTE);
      await night('push-messages', LINKS);
      world.sandbox.addFault({ endpoint: 'shipment', kind: 'html' });
    }
    const table = 'SELECT * EXCLUDE (loaded_at) FROM warehouse.push_link_version ORDER BY ALL';
    const before = [await rowsOf(world, table), await rejects()];
    expect(before.map((rows) => rows.length)).toEqual([3, 1]);
    const replay = () => world.within((context) => runReplay(context, LINKS, { from: first, to: world.today() }));
    expect(await replay()).toMatchObject({ errors: [], run: { summary: { slices_changed: 0 } } });
    await loseLake(world.home, LINKS);
    expect((await replay()).errors).toEqual([]);
    expect([await rowsOf(world, table), await rejects()]).toEqual(before);
    expect(asked()).toBe(4);
  });
});
