import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/core/limits.ts';
import type { Followed } from '../../../src/run/subscriptions/process-waiting.ts';
import {
  createSubscription,
  getSubscription,
  listSubscriptions,
  removeSubscription,
  signatureKeys,
  testSubscription,
  updateSubscription,
  waitForProcess,
} from '../../../src/run/subscriptions/subscribing.ts';
import { storeDeliveries } from '../../../src/store/tables/inbox.ts';
import { errorOf } from '../../partner/scene.ts';
import { answer, cutAfter, hangUp, type Script, silence } from '../../partner/scripted-service.ts';
import { deliveryAt } from '../../support/inbox.ts';
import {
  answered,
  listed,
  PROCESS,
  SubscriptionScene,
  started,
  statusText,
  URL_OF_OURS,
} from '../subscription-scene.ts';

let scene: SubscriptionScene;
beforeEach(async () => {
  scene = await SubscriptionScene.open();
});
afterEach(() => scene.close());

const OURS = { id: 5001, url: URL_OF_OURS, resources: ['PROCESS_STATUS'] };
const OTHER = { id: '5002', url: 'https://etl.example.com/other', resources: ['SHIPMENT'] };
const WAIT = `partner-etl subscriptions wait ${PROCESS}`;

const create = (more = {}) => createSubscription(scene.context, URL_OF_OURS, ['PROCESS_STATUS'], scene.following(more));
const update = (change: object, more = {}) => updateSubscription(scene.context, '5001', change, scene.following(more));
const remove = (more = {}) => removeSubscription(scene.context, '5001', scene.following(more));
const wait = (id = PROCESS) => waitForProcess(scene.context, id, scene.following());
const codeOf = ({ error }: Followed) => error && `${error.kind}/${error.code}`;

describe('waiting for the end', () => {
  test('asks again after pauses that double up to 15 s', async () => {
    scene.script(
      listed(),
      started(),
      ...Array.from({ length: 7 }, () => answered()),
      answered('SUCCESS', { entityId: 5001 }),
    );
    const { process, error, wished } = await create();
    expect([process?.status, error, wished.id]).toEqual(['SUCCESS', null, '5001']);
    expect(scene.pausesMs).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    expect(scene.reported).toEqual([PROCESS]);
  });

  test('asks at once when the push message that announces the end has come, and only once for it', async () => {
    const { clock } = scene.scene;
    const announced = async (response: Parameters<Script>[0], seen: Parameters<Script>[1]) => {
      const event = { resource: 'PROCESS_STATUS', type: 'SUCCESS', resourceId: PROCESS };
      const body = JSON.stringify({ retailerId: 1, timestamp: '2026-03-14T04:00:00+01:00', event });
      await storeDeliveries(scene.scene.state, [deliveryAt(clock.now(), body)], clock);
      await answered()(response, seen);
    };
    scene.script(
      listed(),
      started(),
      answered(),
      answered(),
      answered(),
      announced,
      answered(),
      answered(),
      answered('SUCCESS'),
    );
    expect(codeOf(await create())).toBeNull();
    expect(scene.pausesMs).toEqual([1000, 2000, 4000, 1000, 15_000, 15_000]);
  });

  test('goes on where the inbox cannot be looked into, and says so once', async () => {
    await scene.scene.state.write((tx) => tx.schema.dropTable('inbox').execute());
    scene.script(listed(), started(), answered(), answered(), answered('SUCCESS'));
    expect(codeOf(await create())).toBeNull();
    expect(scene.scene.log.of('warn')).toEqual([expect.stringContaining('the inbox cannot be looked into')]);
  });

  test.each([
    ['FAILURE', { errorMessage: 'no such host' }, 'failed/process_failed', `process ${PROCESS} failed: no such host`],
    ['FAILURE', {}, 'failed/process_failed', 'the service does not say why'],
    ['TIMEOUT', { errorMessage: 'too slow' }, 'failed/process_timeout', 'too slow'],
  ])('%s %j is an error with the words of the service', async (status, more, code, words) => {
    scene.script(listed(), started(), answered(status, more));
    const followed = await create();
    expect(codeOf(followed)).toBe(code);
    expect(followed.error?.message).toContain(words);
    expect(followed.process?.status).toBe(status);
  });

  test('an end that stands in the first answer is not asked for', async () => {
    scene.script(listed(), started('SUCCESS', { entityId: '5001' }));
    expect((await create()).wished.id).toBe('5001');
    expect(scene.asked).toEqual(['GET subscriptions', 'POST subscriptions']);
  });

  test('gives up when the time is over, and says how to go on', async () => {
    scene.script(listed(), started(), ...Array.from({ length: 100 }, () => answered()));
    const began = scene.scene.clock.now();
    const followed = await create({ timeoutMs: 120_000 });
    expect(codeOf(followed)).toBe('failed/still_pending');
    expect(followed.error).toMatchObject({ message: expect.stringContaining('still PENDING after 120 s') });
    expect(followed.error?.hint).toContain(WAIT);
    expect(scene.scene.clock.now() - began).toBe(120_000);
  });

  test('gives up a question that is not answered at all', async () => {
    scene.script(listed(), started(), silence);
    const followed = create();
    await scene.scene.service.arrived(4);
    await scene.scene.clock.advance(310_000);
    expect(codeOf(await followed)).toBe('failed/still_pending');
  });

  test('without it the process is said, and nothing is asked', async () => {
    scene.script(listed(), started());
    expect(await create({ waits: false })).toMatchObject({ process: { id: PROCESS, status: 'PENDING' }, error: null });
    expect(scene.asked).toHaveLength(2);
  });

  test.each<[string, Script, string, string]>([
    ['a media type that is not known', answer(406), 'failed/http_406', 'http_406'],
    [
      'an answer about another process',
      answer(200, '{"id":7,"status":"SUCCESS"}'),
      'failed/other_process',
      'process 7',
    ],
    ['an account that is switched off', answer(403), 'refused/forbidden', ''],
  ])('ends with %s, and says how to go on', async (_, script, code) => {
    scene.script(listed(), started(), script);
    const followed = await create();
    expect(codeOf(followed)).toBe(code);
    expect(followed.error?.hint).toContain(WAIT);
  });
});

describe('a process that the service does not know', () => {
  test('was started a moment ago: it is asked for again', async () => {
    scene.script(listed(), started(), answer(404), answer(404), answered('SUCCESS'));
    expect(codeOf(await create())).toBeNull();
  });

  test('was started long ago: it is forgotten', async () => {
    scene.script(answer(404, '{"title":"Not Found"}'));
    expect(codeOf(await wait())).toBe('failed/no_process');
    expect(scene.asked).toHaveLength(1);
  });
});

describe('an interruption', () => {
  test('of the waiting says how to go on', async () => {
    scene.script(listed(), started(), answered(), async (response, seen) => {
      scene.stop.abort(new Error('Ctrl-C'));
      await answered()(response, seen);
    });
    const followed = await create();
    expect(codeOf(followed)).toBe('failed/interrupted');
    expect(followed.error?.hint).toContain(WAIT);
    expect(followed.process).toMatchObject({ id: PROCESS, status: 'PENDING' });
  });

  test('does not break a request off: its process is said', async () => {
    scene.script(listed(), async (response, seen) => {
      scene.stop.abort(new Error('Ctrl-C'));
      await started()(response, seen);
    });
    const followed = await create();
    expect([codeOf(followed), followed.error?.hint]).toEqual(['failed/interrupted', expect.stringContaining(WAIT)]);
    expect(scene.reported).toEqual([PROCESS]);
  });

  test('before the request is sent ends with its own reason', async () => {
    scene.script(async (response, seen) => {
      await listed()(response, seen);
      scene.stop.abort(new Error('Ctrl-C'));
    });
    expect((await errorOf(create())).message).toBe('Ctrl-C');
    expect(scene.asked).toEqual(['GET subscriptions']);
  });
});

describe('what is kept', () => {
  test('is every answer with a process status, each with its question, under one run', async () => {
    scene.script(listed(), started(), answered(), answer(404, 'none'), answered('SUCCESS', { entityId: '5001' }));
    await create();
    const { answers, records } = await scene.kept();
    expect(answers.map(({ asked, body }) => [asked, body.toString()])).toEqual([
      [{ askedBy: 'start', id: null, startedAs: 'CREATE_SUBSCRIPTION' }, statusText('PENDING')],
      [{ askedBy: 'status', id: PROCESS }, statusText('PENDING')],
      [{ askedBy: 'status', id: PROCESS }, 'none'],
      [{ askedBy: 'status', id: PROCESS }, statusText('SUCCESS', { entityId: '5001' })],
    ]);
    expect(records.map(({ pipeline, status, items }) => [pipeline, status, items])).toEqual([
      ['process-statuses', 202, 1],
      ['process-statuses', 200, 1],
      ['process-statuses', 404, null],
      ['process-statuses', 200, 1],
    ]);
    expect(new Set(records.map(({ run_id }) => run_id)).size).toBe(1);
    expect(records[0]?.run_id).toMatch(/^r[0-9a-z]{18}$/);
  });

  test.each([
    ['list', () => listSubscriptions(scene.context), listed(OURS)],
    ['get', () => getSubscription(scene.context, '5001'), answer(200, JSON.stringify(OURS))],
    ['keys', () => signatureKeys(scene.context), answer(200, '{"signatureKeys":[]}')],
  ] as const)('is nothing of %s', async (_, read, script) => {
    scene.script(script);
    await read();
    expect(await scene.kept()).toEqual({ answers: [], records: [] });
  });

  test('is no answer that turns a request down, but that there was one', async () => {
    scene.script(listed(), answer(400, '{"title":"Bad Request"}'));
    expect((await errorOf(create())).code).toBe('subscription_refused');
    const { answers, records } = await scene.kept();
    expect([answers, records.map(({ status }) => status)]).toEqual([[], [400]]);
  });
});

describe('a request whose answer is lost', () => {
  const LOST: readonly (readonly [string, Script])[] = [
    ['a connection that is cut', hangUp],
    ['an answer that breaks off', cutAfter('{"id":')],
    ['an error of the service', answer(500)],
    ['a page of somebody else', answer(202, '<html>')],
    ['an answer without a process', answer(202, '{}')],
  ];

  test.each(LOST)('%s: a creation is not sent again, and how to find out is said', async (_, script) => {
    scene.script(listed(), script);
    const error = await errorOf(create());
    expect([error.kind, error.code]).toEqual(['failed', 'perhaps_done']);
    expect(error.hint).toContain('partner-etl subscriptions list');
    expect(scene.asked).toEqual(['GET subscriptions', 'POST subscriptions']);
  });

  test.each(LOST.slice(0, 4))('%s: a removal is sent again', async (_, script) => {
    scene.script(script, started('SUCCESS'));
    expect(codeOf(await remove())).toBeNull();
    expect(scene.asked).toEqual(['DELETE subscriptions/5001', 'DELETE subscriptions/5001']);
  });

  test('a removal that is sent again may find that it was carried out', async () => {
    scene.script(hangUp, answer(404), listed(OTHER));
    const error = await errorOf(remove());
    expect([error.code, error.hint]).toEqual(['no_subscription', 'there is 5002']);
    expect(error.message).toContain('an earlier try');
  });

  test.each<[string, Script[], string]>([
    ['is turned down', [answer(415)], 'http_415'],
    ['is turned down for us', [answer(403)], 'forbidden'],
    ['is led elsewhere', [answer(307, '', { location: 'https://evil.org' })], 'redirect'],
    ['comes too early, again and again', Array.from({ length: 4 }, () => answer(429)), 'http_429'],
  ])('is none that %s', async (_, scripts, code) => {
    scene.script(listed(), ...scripts);
    expect((await errorOf(create())).code).toBe(code);
  });

  test('is none that never found the service', async () => {
    scene.baseUrl = 'http://127.0.0.1:1';
    expect((await errorOf(remove())).code).toBe('connect_failed');
  });
});

describe('what the service turns down', () => {
  test.each([400, 409, 422])('with %i is said in its words', async (status) => {
    const violations = [{ name: 'url', reason: 'must be reachable' }];
    scene.script(listed(), answer(status, JSON.stringify({ title: 'Bad Request', violations })));
    const error = await errorOf(create());
    expect([error.kind, error.code]).toEqual(['failed', 'subscription_refused']);
    expect(error.message).toContain(`(${status}): Bad Request; url: must be reachable`);
  });
});

describe('an update', () => {
  test('sends the full new list, and the id as the service spells it', async () => {
    scene.script(listed(OTHER, OURS), started('SUCCESS'));
    const { wished } = await update({ add: ['shipment'] });
    expect(wished).toEqual({ id: '5001', url: URL_OF_OURS, resources: ['PROCESS_STATUS', 'SHIPMENT'] });
    const [, put] = scene.scene.service.calls;
    expect(put?.body).toBe(`{"id":5001,"resources":["PROCESS_STATUS","SHIPMENT"],"url":"${URL_OF_OURS}"}`);
  });

  test('that changes nothing is not sent', async () => {
    scene.script(listed(OURS));
    expect(await update({ add: ['PROCESS_STATUS'], url: URL_OF_OURS })).toMatchObject({
      process: null,
      error: null,
      wished: { resources: ['PROCESS_STATUS'] },
    });
    expect(scene.asked).toEqual(['GET subscriptions']);
  });

  test('to an address that has a subscription is refused', async () => {
    scene.script(listed(OURS, OTHER));
    const error = await errorOf(update({ url: OTHER.url }));
    expect([error.kind, error.code]).toEqual(['usage', 'url_taken']);
    expect(scene.asked).toEqual(['GET subscriptions']);
  });

  test.each([
    ['before', [listed(OTHER)]],
    ['meanwhile', [listed(OURS), answer(404), listed(OTHER)]],
  ])('of a subscription that was removed %s is refused with the ids there are', async (_, scripts) => {
    scene.script(...scripts);
    const error = await errorOf(update({ add: ['SHIPMENT'] }));
    expect([error.code, error.hint]).toEqual(['no_subscription', 'there is 5002']);
  });
});

describe('a test', () => {
  const run = (id: string | null) => testSubscription(scene.context, id, scene.following());

  test('is of the subscription that is named', async () => {
    scene.script(started('SUCCESS'));
    expect(await run('5001')).toMatchObject({ id: '5001', error: null });
    expect(scene.asked).toEqual(['POST subscriptions/test/5001']);
  });

  test('is of the only one there is', async () => {
    scene.script(listed(OTHER), started('SUCCESS'));
    expect(await run(null)).toMatchObject({ id: '5002' });
  });

  test('of none of many is refused, with their ids', async () => {
    scene.script(listed(OTHER, OURS));
    expect(await errorOf(run(null))).toMatchObject({ kind: 'usage', code: 'no_id', hint: 'there are 5002, 5001' });
  });

  test.each([null, '5001'])('is of all in older versions, whichever is named: %s', async (id) => {
    scene.testPath = '/retailer/subscriptions/test';
    scene.script(started('SUCCESS'));
    expect(await run(id)).toMatchObject({ id: null });
    expect([scene.asked, scene.reported]).toEqual([['POST subscriptions/test'], ['all', PROCESS]]);
  });

  test.each<[string | null, string, Script[]]>([
    [null, '/retailer/subscriptions/test', [answer(404)]],
    [null, '/retailer/subscriptions/test/{id}', [listed()]],
    ['5001', '/retailer/subscriptions/test/{id}', [answer(404), listed()]],
  ])('of %s at %s where there is none is refused', async (id, path, scripts) => {
    scene.testPath = path;
    scene.script(...scripts);
    expect(await errorOf(run(id))).toMatchObject({ kind: 'failed', code: 'no_subscription' });
  });

  test('is not asked for again when its answer is lost', async () => {
    scene.script(hangUp);
    expect(await errorOf(run('5001'))).toMatchObject({
      code: 'perhaps_done',
      hint: expect.stringContaining('message'),
    });
    expect(scene.asked).toHaveLength(1);
  });
});

describe('reading', () => {
  test('of one that is not there names the ids there are', async () => {
    scene.script(answer(404), listed(OURS, OTHER));
    const error = await errorOf(getSubscription(scene.context, '9'));
    expect([error.code, error.hint]).toEqual(['no_subscription', 'there are 5001, 5002']);
  });

  test('is tried again when a page of somebody else comes', async () => {
    scene.script(answer(200, '<html>'), listed(OURS));
    expect(await listSubscriptions(scene.context)).toHaveLength(1);
  });

  test('of an answer that is far too large is refused', async () => {
    scene.script(answer(200, ' '.repeat(LIMITS.stateAnswerBytes + 1)));
    expect((await errorOf(listSubscriptions(scene.context))).code).toBe('answer_too_large');
  });
});
