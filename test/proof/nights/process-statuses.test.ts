/** Nights of process statuses: which processes are asked for, when, by which address, and what becomes of the answers. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/core/clock.ts';
import { newId } from '../../../src/core/ids.ts';
import { runReplay } from '../../../src/run/again.ts';
import type { Step } from '../../../src/run/context.ts';
import { estimatePlans } from '../../../src/run/estimate.ts';
import { chosenPipelines } from '../../../src/run/night.ts';
import { nightPlans } from '../../../src/run/plans.ts';
import { explain, listRejects } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import type { JsonValue } from '../../../src/store/raw/gather.ts';
import { fetchOf } from '../../extract/lookup-scene.ts';
import { rowsOf } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';
import { forgetAskedKeys } from '../../support/state.ts';
import {
  calling,
  deliver,
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
import { flawsIn } from '../../support/versions.ts';

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
/** An answer as a command leaves it. */
const kept = (asked: JsonValue, body: string) =>
  world.within(async ({ raw, clock }) => {
    const runId = newId('r', clock);
    const gatherer = raw.gather(STATUSES, clock, 1);
    const fetchId = newId('f', clock);
    const at = isoTime(clock.now());
    const times = { run_id: runId, pipeline: STATUSES, started_at: at, finished_at: at };
    const sha256 = createHash('sha256').update(body).digest('hex');
    const raw_path = gatherer.add({ fetchId, request: asked, body: Buffer.from(body) });
    await gatherer.record({ ...fetchOf(1, { ...times, sha256, raw_path }), fetch_id: fetchId });
    await gatherer.close();
  });
const plan = async () => {
  const estimate = await world.within(async (context) =>
    estimatePlans(context, await nightPlans(context, chosenPipelines(context, [STATUSES]))),
  );
  return estimate.pipelines[0];
};
const end = (status: 'FAILURE' | 'TIMEOUT', errorMessage?: string) =>
  world.sandbox.change({ kind: 'next-process', status, ...(errorMessage ? { errorMessage } : {}) });

describe('what a command was answered', () => {
  it('is taken in by the next night, without a call', async () => {
    const id = await subscribe(world);
    const before = asked();
    expect(await night(STATUSES)).toMatchObject({ exitCode: 0, errors: [], run: { summary: { calls: 0, rows: 2 } } });
    expect(await versions()).toEqual([`${id} found PENDING - start false`, `${id} found SUCCESS 5001 status true`]);
    expect(await state()).toEqual([`${id} SUCCESS true true false`]);
    expect(asked()).toBe(before);
    expect((await night(STATUSES)).run.summary).toMatchObject({ calls: 0, slices_changed: 0 });
    expect(await world.within(verify)).toMatchObject({ answers: 2, differences: [] });
    expect(await flawsIn(world)).toEqual([]);
  });

  it('keeps what the service says of itself', async () => {
    end('FAILURE', 'There is no place for it. ☃');
    const id = await subscribe(world);
    await night(STATUSES);
    const [row] = await rowsOf(
      world,
      `SELECT event_type, description, status, error_message, epoch_ms(create_timestamp) FROM warehouse.process_status_version WHERE process_status_id = '${id}' AND valid_to IS NULL`,
    );
    const createdMs = Date.parse('2026-03-20T02:00:00Z');
    expect(row).toBe(
      `CREATE_SUBSCRIPTION CREATE_SUBSCRIPTION for a subscription. FAILURE There is no place for it. ☃ ${createdMs}`,
    );
  });
});

describe('a process that was started and not seen to end', () => {
  it('is asked for when every retry of its message is over, and then no more', async () => {
    const id = await startSubscription(world);
    pass(world, 19 * MINUTE);
    expect(await plan()).toMatchObject({ calls: 0 });
    expect((await night()).run.summary).toMatchObject({ calls: 1 });
    expect(await versions()).toEqual([`${id} found PENDING - start true`]);
    pass(world, MINUTE);
    expect(await plan()).toMatchObject({ calls: 1, following: { due: { open: 1 }, left_out: 0 } });
    await night(STATUSES);
    expect(await versions()).toEqual([`${id} found PENDING - start false`, `${id} found SUCCESS 5001 status true`]);
    expect(await plan()).toMatchObject({ calls: 0, following: { due: {}, left_out: 0 } });
    pass(world, HOUR);
    await night(STATUSES);
    expect(asked()).toBe(1);
  });

  it('is asked for at once when a message about it has come', async () => {
    const id = await startSubscription(world);
    pass(world, MINUTE);
    await deliver(world, processMessage(id));
    await night();
    expect(await versions()).toEqual([`${id} found PENDING - start false`, `${id} found SUCCESS 5001 message true`]);
    expect(await flawsIn(world)).toEqual([]);
  });

  it('and still is not over, is asked for again by the next run, and writes nothing until it is', async () => {
    await world.close();
    world = await openStateWorld({ sandbox: { processSeconds: 7200 } });
    const id = await startSubscription(world);
    for (let i = 0; i < 3; i++) {
      pass(world, 30 * MINUTE);
      expect((await night(STATUSES)).run.summary).toMatchObject({ calls: 1, slices_changed: i === 0 ? 1 : 0 });
    }
    pass(world, HOUR);
    await night(STATUSES);
    expect(await versions()).toEqual([`${id} found PENDING - start false`, `${id} found SUCCESS 5001 status true`]);
  });

  it('and that the service has forgotten, is not asked for again', async () => {
    const id = await startSubscription(world);
    await night(STATUSES);
    pass(world, 49 * HOUR);
    expect(await night(STATUSES)).toMatchObject({ exitCode: 0, run: { summary: { calls: 1 } } });
    pass(world, HOUR);
    expect((await night(STATUSES)).run.summary).toMatchObject({ calls: 0 });
    expect(await versions()).toEqual([`${id} found PENDING - start false`, `${id} not_found - - status true`]);
    expect(await state()).toEqual([`${id} PENDING true false true`]);
    const reason = `SELECT reason FROM warehouse.process_status_version WHERE reason IS NOT NULL`;
    expect(await rowsOf(world, reason)).toHaveLength(1);
  });

  it('and that the service did not know at first, is asked for once its retries are over', async () => {
    const id = await startSubscription(world);
    pass(world, 1000);
    world.sandbox.addFault({ endpoint: 'process-status', kind: 'status', status: 404 });
    await calling(world, (calls, { signal }) => calls.status(id, signal));
    await night(STATUSES);
    pass(world, 20 * MINUTE);
    await night(STATUSES);
    expect(await versions()).toEqual([
      `${id} found PENDING - start false`,
      `${id} not_found - - status false`,
      `${id} found SUCCESS 5001 status true`,
    ]);
  });

  it('many at once that are forgotten are not held: that is how it should be', async () => {
    for (let i = 0; i < 25; i++) await startSubscription(world, `${HOOK}/${i}`);
    await night(STATUSES);
    pass(world, 50 * HOUR);
    expect(await night(STATUSES)).toMatchObject({ exitCode: 0, run: { summary: { calls: 25, slices_held: 0 } } });
    expect((await night(STATUSES)).run.summary).toMatchObject({ calls: 0 });
  });
});

describe('a night', () => {
  it('asks for no more than its budget, the oldest first, and tells what it left out', async () => {
    await world.close();
    world = await openStateWorld({ processes: { callsPerNight: 2 } });
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push(await startSubscription(world, `${HOOK}/${i}`));
      pass(world, MINUTE);
    }
    pass(world, 30 * MINUTE);
    const ended = () => rowsOf(world, `SELECT process_status_id FROM mart.process WHERE status = 'SUCCESS'`);
    expect((await night(STATUSES)).run.summary).toMatchObject({ calls: 2, left_out: 3 });
    expect((await ended()).sort()).toEqual(ids.slice(0, 2));
    expect(await plan()).toMatchObject({ calls: 2, following: { due: { open: 3 }, left_out: 1 } });
    await night(STATUSES);
    await night(STATUSES);
    expect((await ended()).sort()).toEqual(ids);
  });

  it('that fails for one goes on with the others, and the next asks for that one', async () => {
    const ids = [await startSubscription(world), await startSubscription(world, `${HOOK}/2`)];
    pass(world, HOUR);
    world.sandbox.addFault({ endpoint: 'process-status', kind: 'status', status: 400 });
    expect(await night(STATUSES)).toMatchObject({ exitCode: 1, errors: [{ code: 'http_400' }] });
    expect((await state()).filter((row) => row.includes('SUCCESS'))).toHaveLength(1);
    expect((await night(STATUSES)).exitCode).toBe(0);
    expect(await state()).toEqual(ids.map((id) => `${id} SUCCESS true true false`));
  });

  it.each<Step>(['answer-received', 'normalised', 'lake-committed', 'publishing', 'published'])(
    'that dies at "%s" is carried on by the next one, and nobody is asked for twice',
    async (at) => {
      const ids = [await startSubscription(world), await startSubscription(world, `${HOOK}/2`)];
      pass(world, HOUR);
      await world
        .night({
          names: [STATUSES],
          step: (name: Step) => {
            if (name === at) throw new Error('no more');
          },
        })
        .catch(() => undefined);
      pass(world, MINUTE);
      expect((await night(STATUSES)).errors).toEqual([]);
      expect(await state()).toEqual(ids.map((id) => `${id} SUCCESS true true false`));
      expect(await flawsIn(world)).toEqual([]);
      expect(asked()).toBe(2);
    },
  );

  it('needs credentials only where something is due', async () => {
    const id = await startSubscription(world);
    const env = world.env as Record<string, string>;
    for (const name of ['PARTNER_CLIENT_ID', 'PARTNER_CLIENT_SECRET']) delete env[name];
    expect(await night('push-messages', STATUSES, 'push-links')).toMatchObject({ exitCode: 0, errors: [] });
    expect(await state()).toEqual([`${id} PENDING true false false`]);
    pass(world, HOUR);
    const lacking = { kind: 'usage', code: 'no_credentials' };
    await expect(night(STATUSES)).rejects.toMatchObject(lacking);
    await expect(night('subscriptions')).rejects.toMatchObject(lacking);
  });

  it('that is stopped goes on where it was', async () => {
    const ids = [];
    for (let i = 0; i < 12; i++) ids.push(await startSubscription(world, `${HOOK}/${i}`));
    pass(world, HOUR);
    const stop = new AbortController();
    const step = (name: Step) => {
      if (name === 'answer-received') stop.abort();
    };
    expect((await world.night({ names: [STATUSES], signal: stop.signal, step })).run.result).toBe('interrupted');
    expect(asked()).toBeLessThan(12);
    pass(world, MINUTE);
    expect((await night(STATUSES)).errors).toEqual([]);
    expect(await state()).toEqual(ids.map((id) => `${id} SUCCESS true true false`));
    expect(asked()).toBeLessThanOrEqual(12 + 4);
  });

  it('takes in what a command keeps beside it, the one as the other', async () => {
    const id = await startSubscription(world);
    pass(world, HOUR);
    let other = '';
    const outcome = await world.night({
      names: [STATUSES],
      step: async (name: Step) => {
        if (name === 'answer-received' && other === '') other = await startSubscription(world, `${HOOK}/2`);
      },
    });
    expect(outcome.errors).toEqual([]);
    await night(STATUSES);
    expect(await state()).toEqual([`${id} SUCCESS true true false`, `${other} PENDING true false false`]);
  });
});

describe('an answer', () => {
  it('about another process than was asked for is set aside; one that is none any more is left out', async () => {
    const told = (id: string) => JSON.stringify({ id, status: 'SUCCESS' });
    await kept({ askedBy: 'status', id: '1' }, told('2'));
    await kept({ askedBy: 'status', id: '3' }, told('3'));
    await kept({ askedBy: 'status', id: null }, told('4'));
    expect(await night(STATUSES)).toMatchObject({ exitCode: 3, run: { summary: { rows: 1, rejects: 1 } } });
    expect(await versions()).toEqual(['3 found SUCCESS - status true']);
    const [reject] = await world.within((context) => listRejects(context, STATUSES, 10));
    expect(reject).toMatchObject({ reason: 'other_id', detail: 'id = 2, not 1', raw: told('2') });
    expect((await night(STATUSES)).exitCode).toBe(0);
  });
});

describe('what was stored', () => {
  it('makes the same history again in a replay, also where the lake and what was asked for are lost', async () => {
    const first = world.today();
    await subscribe(world);
    end('FAILURE', 'no');
    await startSubscription(world, `${HOOK}/2`);
    await night(STATUSES);
    world.passDays(1);
    await night(STATUSES);
    await deliver(world, processMessage('77'));
    await night();
    const table = 'SELECT * EXCLUDE (loaded_at) FROM warehouse.process_status_version ORDER BY ALL';
    const [before, calls] = [await rowsOf(world, table), asked()];
    expect(before).toHaveLength(5);
    const replay = () => world.within((context) => runReplay(context, STATUSES, { from: first, to: world.today() }));
    expect(await replay()).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
    await loseLake(world.home, 'process-statuses');
    await forgetAskedKeys(world.home);
    expect((await replay()).errors).toEqual([]);
    expect(await rowsOf(world, table)).toEqual(before);
    expect(asked()).toBe(calls);
    expect((await world.within((context) => explain(context, STATUSES, first))).fetch_count).toBe(3);
    expect(await world.within((context) => listRejects(context, STATUSES, 10))).toEqual([]);
  });
});

describe('the status', () => {
  it('says what came of the processes, and when one was asked for last', async () => {
    await subscribe(world);
    await deliver(world, processMessage('77'));
    pass(world, 1000);
    await night();
    const found = (await world.within(statusOf)).pipelines.find(({ pipeline }) => pipeline === STATUSES);
    expect(found).toMatchObject({
      newest: world.today(),
      rows: 2,
      lookups: { outcomes: { found: 1, not_found: 1 }, asked_at: new Date(world.clock.now()).toISOString() },
    });
  });
});
