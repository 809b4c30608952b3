import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/run/status/status.ts';
import { rowsOf } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';
import { forgetFetches } from '../../support/state.ts';
import {
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
  startSubscription,
  subscribe,
} from '../../support/states.ts';

let world: World;
beforeEach(async () => {
  world = await openStateWorld();
});
afterEach(() => world.close());

const STATUSES = 'process-statuses';
const night = (...names: readonly string[]) => nightOf(world)(...names);
const asked = () => world.sandbox.stats.calls['process-status'] ?? 0;
const versions = () =>
  rowsOf(
    world,
    'SELECT process_status_id, outcome, status, entity_id, asked_by, valid_to IS NULL FROM warehouse.process_status_version ORDER BY process_status_id, valid_from',
  );
const state = () =>
  rowsOf(
    world,
    'SELECT process_status_id, status, started_here, end_seen IS NOT NULL, is_forgotten FROM mart.process ORDER BY process_status_id',
  );
const end = (status: 'FAILURE' | 'TIMEOUT') => world.sandbox.change({ kind: 'next-process', status });

describe('a process that only a message tells of', () => {
  it('is asked for, by the link of the message', async () => {
    await subscribe(world);
    await forgetFetches(world.home, STATUSES);
    end('TIMEOUT');
    await startSubscription(world, `${HOOK}/2`);
    await forgetFetches(world.home, STATUSES);
    pass(world, MINUTE);
    await world.sandbox.deliverDue();
    await deliverPushes(world);
    await night();
    const [told] = world.sandbox.pushes().slice(-1);
    const id = JSON.parse(told!.body).event.resourceId as string;
    expect(await versions()).toContain(`${id} found TIMEOUT - message true`);
    expect(await state()).toContain(`${id} TIMEOUT false true false`);
    const urls = await world.within(async ({ raw }) => {
      const found: string[] = [];
      for await (const { url } of raw.fetches(STATUSES)) found.push(new URL(url).pathname);
      return found;
    });
    expect(urls).toContain(`/shared/process-status/${id}`);
    const calls = asked();
    pass(world, HOUR);
    await night();
    expect(asked()).toBe(calls);
  });

  it.each([
    ['leads nowhere', (base: string) => `${base}/retailer/nowhere/1`],
    ['leads to a process of another id', (base: string) => `${base}/shared/process-status/1000001`],
    ['leads to something else', (base: string) => `${base}/retailer/subscriptions`],
  ])('whose link %s, is asked for by the path of the settings', async (_, linkTo) => {
    await subscribe(world);
    await night(STATUSES);
    const id = await startSubscription(world, `${HOOK}/2`);
    await forgetFetches(world.home, STATUSES);
    pass(world, MINUTE);
    await deliver(world, processMessage(id, [get(linkTo(world.sandbox.baseUrl))]));
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect((await versions()).at(-1)).toBe(`${id} found SUCCESS 5002 message true`);
  });

  it.each([
    ['another host', (base: string) => base.replace('127.0.0.1', '127.0.0.2')],
    ['another port', () => 'http://127.0.0.1:1'],
    ['another scheme', (base: string) => base.replace('http:', 'ftp:')],
    ['somebody by credentials', (base: string) => base.replace('//', '//a:b@')],
  ])('whose link leads to %s: it is not followed, and told', async (_, elsewhere) => {
    const id = await startSubscription(world);
    await forgetFetches(world.home, STATUSES);
    pass(world, MINUTE);
    const href = `${elsewhere(world.sandbox.baseUrl)}/shared/process-status/${id}`;
    await deliver(world, processMessage(id, [get(href)]));
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect(await versions()).toEqual([`${id} found SUCCESS 5001 message true`]);
    const { drift } = await world.within(statusOf);
    expect(drift).toContainEqual(
      expect.objectContaining({
        pipeline: STATUSES,
        kind: 'foreign_link',
        field: 'links',
        example: href.slice(0, 100),
      }),
    );
  });

  it('whose link is to be called with another method: it is not followed', async () => {
    const id = await startSubscription(world);
    await forgetFetches(world.home, STATUSES);
    pass(world, MINUTE);
    const href = `${world.sandbox.baseUrl}/shared/process-status/${id}`;
    await deliver(world, processMessage(id, [{ method: 'DELETE', href }]));
    await night();
    expect(await versions()).toEqual([`${id} found SUCCESS 5001 message true`]);
    const paths = await rowsOf(world, `SELECT url FROM etl.fetch WHERE pipeline = '${STATUSES}'`);
    expect(paths).toEqual([`${world.sandbox.baseUrl}/retailer/process-status/${id}`]);
  });

  it('and that the service does not know, is asked for once; and again when another message tells of it', async () => {
    await deliver(world, processMessage('77'));
    pass(world, 1000);
    await night();
    pass(world, HOUR);
    await night();
    expect(asked()).toBe(1);
    expect(await versions()).toEqual(['77 not_found - - message true']);
    await deliver(world, processMessage('77', [], 'FAILURE'));
    pass(world, 1000);
    await night();
    expect(asked()).toBe(2);
    pass(world, HOUR);
    await night();
    expect(asked()).toBe(2);
    expect(await versions()).toEqual(['77 not_found - - message true']);
  });

  it('with an id that no address can have, is left alone and told', async () => {
    await deliver(world, processMessage('..'), processMessage('a/b?c=#é'));
    pass(world, 1000);
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect(await versions()).toEqual(['a/b?c=#é not_found - - message true']);
    const { drift } = await world.within(statusOf);
    expect(drift).toContainEqual(expect.objectContaining({ kind: 'bad_id', field: 'resourceId', example: '..' }));
  });

  it('is left to others when the message is older than three days', async () => {
    await deliver(world, processMessage('77'));
    await night('push-messages');
    world.passDays(4);
    await night();
    expect(asked()).toBe(0);
  });
});
