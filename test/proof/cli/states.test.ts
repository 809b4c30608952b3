/** What the data commands say of subscriptions, process statuses, links and messages, as they are typed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { typedIn } from '../../cli/typed.ts';
import type { World } from '../../support/nights.ts';
import {
  deliver,
  get,
  HOOK,
  HOUR,
  MINUTE,
  openStateWorld,
  PUSHED,
  pass,
  processMessage,
  shipmentMessage,
  startSubscription,
} from '../../support/states.ts';

let world: World;
beforeAll(async () => {
  world = await openStateWorld({ processes: { callsPerNight: 2 } });
});
afterAll(() => world.close());

const typed = (...words: string[]) => typedIn(world, words);
const range = ['--from', '2026-03-20', '--to', '2026-03-20'];

describe('before the first night', () => {
  it('plan asks for the list and nothing else; status has nothing to tell', async () => {
    const { code, out } = await typed('plan', ...PUSHED);
    expect(code).toBe(0);
    expect(out).toContain('push-messages: takes in nothing: the inbox is empty\n');
    expect(out).toContain('subscriptions: asks for the list; it was not asked for yet\n');
    expect(out).toContain('process-statuses: nothing is due\n');
    expect(out).toContain('push-links: nothing is due\n');
    expect(out).toContain('\n1 call, 0 slices');
    const status = await typed('status');
    expect(status.code).toBe(0);
    for (const name of PUSHED) expect(status.out).toMatch(new RegExp(`^${name} \\(off\\) +never loaded`, 'm'));
  });

  it('a past range is refused, and nothing is stored yet', async () => {
    for (const name of PUSHED) {
      expect(await typed('backfill', name, ...range)).toMatchObject({
        code: 2,
        err: expect.stringContaining('has no past to fetch'),
      });
      expect(await typed('replay', name, ...range)).toMatchObject({ code: 2 });
      expect(await typed('release', name, '2026-03-20')).toMatchObject({ code: 2 });
    }
  });
});

describe('with requests under way and messages in the inbox', () => {
  beforeAll(async () => {
    for (const name of ['a', 'b', 'c']) await startSubscription(world, `${HOOK}/${name}`);
    const shipment = `${world.sandbox.baseUrl}/retailer/shipments/S-1`;
    world.sandbox.change({ kind: 'shipment', shipmentId: 'S-1' });
    await deliver(world, processMessage('77'), shipmentMessage('S-1', [get(shipment)]));
    pass(world, HOUR);
  });

  it('status tells what waits in the inbox, and plan that it is taken in', async () => {
    const waits = /push-messages: 2 messages of the inbox \(0\.0 MB\) to be taken in/;
    expect((await typed('status')).out).toMatch(waits);
    expect((await typed('plan', 'push-messages')).out).toContain('push-messages: takes in 2 messages of the inbox');
  });

  it('plan counts what is due for which reason, and what the budget leaves out', async () => {
    await typed('run', 'push-messages', 'process-statuses');
    const { out } = await typed('plan', ...PUSHED);
    expect(out).toContain('process-statuses: 2 calls for 1 open, 1 reported\n');
    expect(out).toContain('push-links: 1 call for 1 linked\n');
    const { pipelines } = JSON.parse((await typed('plan', '--json', 'process-statuses')).out);
    expect(pipelines).toEqual([
      { pipeline: 'process-statuses', calls: 2, following: { due: { open: 1, reported: 1 }, left_out: 0 } },
    ]);
  });

  it('run takes all in; status, explain, rejects and verify know it', async () => {
    const { code, out } = await typed('run', ...PUSHED);
    expect([code, out]).toEqual([0, expect.stringContaining('(4 calls): 4 slices changed')]);
    pass(world, MINUTE);
    const status = await typed('status');
    expect(status.out).toMatch(/^process-statuses: 3 found, 1 not found; last asked 2026-03-20T/m);
    expect(status.out).toMatch(/^push-links: 1 found; last asked 2026-03-20T/m);
    expect(status.out).toMatch(/^subscriptions: 3 listed; last asked 2026-03-20T/m);
    expect(status.out).toMatch(/^push-messages \(off\) +2026-03-20 +2 /m);
    const explained = await typed('explain', 'process-statuses', '2026-03-20');
    expect(explained.out).toMatch(/^process-statuses 2026-03-20: \d rows, 0 rejects/);
    expect((await typed('rejects', 'push-links')).out).toBe('No rejects.\n');
    expect(await typed('verify')).toMatchObject({ code: 0, out: expect.stringContaining('no difference') });
  });

  it('replay and rebuild make the same again', async () => {
    for (const name of PUSHED) expect((await typed('replay', name, ...range)).code).toBe(0);
    expect((await typed('rebuild')).code).toBe(0);
    expect((await typed('verify')).code).toBe(0);
  });
});
