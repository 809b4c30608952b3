import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { exhaustedMs, retryAfterMs } from '../../src/partner/answer-headers.ts';
import { backoffMs } from '../../src/partner/retry.ts';
import { endOf, errorOf, PASSING_MS, Scene, textCall } from './scene.ts';
import { answer, stallAfter } from './scripted-service.ts';

const NOW_MS = Date.UTC(2026, 2, 14, 3, 0, 0);
const HOUR_MS = 3_600_000;

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

/** When the calls arrived, in milliseconds after the first. */
function arrivals(): number[] {
  const [first] = scene.service.calls;
  return scene.service.calls.map(({ atMs }) => atMs - first!.atMs);
}

describe('Retry-After', () => {
  test.each([
    ['4', 4000],
    [' 120 ', 120_000],
    ['0.5', 500],
    ['Sat, 14 Mar 2026 03:00:30 GMT', 30_000],
    ['Saturday, 14-Mar-26 03:01:00 GMT', 60_000],
    ['Sat, 14 Mar 2026 02:59:00 GMT', null],
    ['0', null],
    ['-5', null],
    ['soon', null],
    ['2026', 2_026_000],
    ['', null],
    [null, null],
  ])('%j is a pause of %j ms', (value, ms) => {
    const at = { nowMs: NOW_MS, serviceNowMs: NOW_MS };
    expect(retryAfterMs(value, at, HOUR_MS)).toBe(ms);
  });

  test.each([
    ['as much behind ours', -1_800_000, 30_000],
    ['as much ahead of ours', 1_800_000, 30_000],
    ['unknown: it is believed for the period at the most', null, 60_000],
  ])('a date is compared to the service’s own clock: %s', (_name, offsetMs, ms) => {
    const named = NOW_MS + (offsetMs ?? 1_800_000) + 30_000;
    const at = { nowMs: NOW_MS, serviceNowMs: offsetMs === null ? null : NOW_MS + offsetMs };
    expect(retryAfterMs(new Date(named).toUTCString(), at, 60_000)).toBe(ms);
  });

  test('a date of a clock that differs is waited for as long as the service meant', async () => {
    const ahead = (ms: number) => new Date(NOW_MS + 1_800_000 + ms).toUTCString();
    scene.service.answers.push(answer(429, '', { date: ahead(0), 'retry-after': ahead(30_000) }));
    await scene.client().call(textCall());
    expect(arrivals()).toEqual([0, 30_000]);
  });

  test.each([
    ['in seconds', '4', 4000],
    ['as a date', 'Sat, 14 Mar 2026 03:00:30 GMT', 30_000],
    ['absent: half of the first ceiling, by the dice', undefined, 500],
    ['past: the same', 'Sat, 14 Mar 2026 02:00:00 GMT', 500],
  ])('%s', async (_name, header, ms) => {
    const body = '{"title":"Too Many Requests","detail":"Too many requests, retry in 400 seconds."}';
    scene.service.answers.push(answer(429, body, header === undefined ? {} : { 'retry-after': header }));
    await scene.client().call(textCall());
    expect(arrivals()).toEqual([0, ms]);
  });

  test('holds back the other calls of the endpoint, and nobody else', async () => {
    scene.clock.passUpTo(0);
    scene.service.answers.push(answer(429, '', { 'retry-after': '7' }));
    const client = scene.client();
    const first = client.call(textCall({ path: '/first' }));
    await scene.clock.asleep((ms) => ms === 7000);
    const same = client.call(textCall({ path: '/same' }));
    await client.call(textCall({ path: '/other', endpoint: 'other' }));
    await scene.clock.asleep((ms) => ms === 7000, 2);
    await scene.clock.advance(6999);
    expect(scene.service.calls.map(({ url }) => url)).toEqual(['/api/first', '/api/other']);
    await scene.clock.advance(1);
    await Promise.all([first, same]);
    expect(arrivals()).toEqual([0, 0, 7000, 7000]);
  });

  test('holds back the calls of other processes too', async () => {
    scene.service.answers.push(answer(429, '', { 'retry-after': '300' }));
    expect(await endOf(scene.client({ retry: { tries: 1 } }).call(textCall()))).toBe('failed/http_429');
    await scene.client().call(textCall());
    expect(arrivals()).toEqual([0, 300_000]);
  });
});

describe('an exhausted rate limit', () => {
  test.each([
    ['0', '30', 30_000],
    ['0', String(NOW_MS / 1000 + 45), 45_000],
    ['0', String(NOW_MS + 45_000), 45_000],
    ['0', '1539261914', null],
    ['1', '30', null],
    ['0', 'later', null],
    ['0', null, null],
    [null, '30', null],
  ])('remaining %j, reset %j: nothing for %j ms', (remaining, reset, ms) => {
    const at = { nowMs: NOW_MS, serviceNowMs: NOW_MS };
    expect(exhaustedMs(remaining, reset, at, HOUR_MS)).toBe(ms);
  });

  test.each([
    ['half an hour behind ours', -1_800_000, 20_000],
    ['half an hour ahead of ours', 1_800_000, 20_000],
    ['not known, and ahead', null, 50_000],
  ])('an instant is compared to the service’s clock, and believed for the period: %s', (_name, offsetMs, ms) => {
    const at = { nowMs: NOW_MS, serviceNowMs: offsetMs === null ? null : NOW_MS + offsetMs };
    const reset = (leftMs: number) => String((NOW_MS + (offsetMs ?? 1_800_000) + leftMs) / 1000);
    expect(exhaustedMs('0', reset(20_000), at, 50_000)).toBe(ms);
    expect(exhaustedMs('0', reset(80_000), at, 50_000)).toBe(50_000);
  });

  test.each([
    ['in seconds', '30', 30_000],
    ['as an instant: for a second of the budget', String(NOW_MS / 1000 + 45), 1000],
    ['past', '1539261914', 0],
    ['absurd: a minute at the most', '99999', 60_000],
  ])('holds the endpoint back until its reset, %s', async (_name, reset, ms) => {
    scene.service.answers.push(answer(200, '{}', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }));
    const client = scene.client();
    await client.call(textCall());
    await client.call(textCall());
    expect(arrivals()).toEqual([0, ms]);
  });

  test('of a clock that is ahead does not slow the calls down', async () => {
    const ahead = { date: new Date(NOW_MS + HOUR_MS).toUTCString(), 'x-ratelimit-remaining': '0' };
    const spent = { ...ahead, 'x-ratelimit-reset': String((NOW_MS + HOUR_MS) / 1000 + 1) };
    scene.service.answers.push(...Array.from({ length: 5 }, () => answer(200, '{}', spent)));
    const client = scene.client();
    for (let n = 0; n < 5; n++) await client.call(textCall());
    expect(arrivals()).toEqual([0, 1000, 2000, 3000, 4000]);
  });
});

describe('who waits is told why, and for how long', () => {
  const budget = { calls: 1, perSeconds: 200, concurrency: 1 };
  test.each([
    ['Retry-After', [429, { 'retry-after': '90' }], undefined, { ms: 90_000, why: 'retry-after' }],
    [
      'limit',
      [200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '50' }],
      undefined,
      { ms: 50_000, why: 'rate-limit' },
    ],
    ['budget', [200, {}], budget, { ms: 210_000, why: 'budget' }],
  ] as const)('%s', async (_name, [status, headers], own, wait) => {
    scene.service.answers.push(answer(status, '{}', headers));
    const first = scene.client({ retry: { tries: 1 } });
    const calls = [textCall(), textCall()].map((call) => ({ ...call, ...(own ? { budget: own } : {}) }));
    await first.call(calls[0]!).catch(() => undefined);
    await first.call(calls[1]!);
    expect(scene.waits).toEqual([{ endpoint: 'things', ...wait }]);
  });

  test('also of the wait that another process was asked for; a short one is not worth a word', async () => {
    scene.service.answers.push(answer(429, '', { 'retry-after': '90' }), answer(429, '', { 'retry-after': '3' }));
    await scene
      .client({ retry: { tries: 1 } })
      .call(textCall())
      .catch(() => undefined);
    await scene.client({ retry: { tries: 2 } }).call(textCall());
    expect(scene.waits).toEqual([{ endpoint: 'things', ms: 90_000, why: 'another' }]);
  });

  test('of the authentication service too', async () => {
    scene.service.tokens.push(answer(429, '', { 'retry-after': '600' }));
    expect(await endOf(scene.tokens({ retry: { tries: 1 } }).get())).toBe('failed/token_http_429');
    await scene.tokens().get();
    expect(scene.log.of('warn').join('\n')).toContain('the authentication service wants no request for 600 s: waiting');
  });
});

describe('pauses of our own', () => {
  const retry = { tries: 9, baseMs: 1000, longestMs: 10_000 };
  test.each([
    [1, 1000],
    [2, 2000],
    [3, 4000],
    [4, 8000],
    [5, 10_000],
    [2000, 10_000],
  ])('after try %i: from 0 to %i ms', (tries, ceilingMs) => {
    expect(backoffMs(retry, tries, () => 0)).toBe(0);
    expect(backoffMs(retry, tries, () => 0.25)).toBe(ceilingMs / 4);
    expect(backoffMs(retry, tries, () => 0.999999)).toBe(ceilingMs);
  });

  test('double from try to try', async () => {
    scene.service.answers.push(answer(503), answer(503), answer(503));
    await scene.client().call(textCall());
    expect(arrivals()).toEqual([0, 500, 1500, 3500]);
  });
});

describe('the time limit of a call', () => {
  test('is not passed by a pause: the call ends at once, and says why', async () => {
    scene.clock.passUpTo(0);
    scene.service.answers.push(answer(429, '', { 'retry-after': '600' }));
    const error = await errorOf(scene.client({ timeouts: { totalMs: 500_000 } }).call(textCall()));
    expect([error.kind, error.code]).toEqual(['failed', 'total_timeout']);
    expect(error.message).toContain('the service answered 429');
    expect(error.message).toContain('the next try could be made in 600 s, but only 500 s are left for the call');
    expect(scene.clock.now()).toBe(NOW_MS);
    expect(scene.service.calls).toHaveLength(1);
  });

  test('is not passed by waiting for a hold that another call was told of', async () => {
    const client = scene.client({ timeouts: { totalMs: 10_000_000 } });
    scene.service.answers.push(stallAfter('{'), answer(429, '', { 'retry-after': '3600' }));
    const work = errorOf(client.call(textCall()));
    await scene.service.arrived(2);
    await scene.clock.advance(7_000_000);
    // The second call is told to wait for an hour; the first one breaks off then, and has less than that left.
    scene.clock.passUpTo(0);
    const stop = new AbortController();
    const second = errorOf(client.call(textCall({ signal: stop.signal })));
    await scene.clock.asleep((ms) => ms === 3_600_000);
    scene.service.cutAll();
    expect((await work).code).toBe('total_timeout');
    expect(scene.clock.now()).toBe(NOW_MS + 7_000_000);
    stop.abort(new Error('enough'));
    expect((await second).message).toBe('enough');
  });

  test('ends a body that goes on and on', async () => {
    scene.service.answers.push(stallAfter('{'));
    const work = endOf(scene.client({ timeouts: { totalMs: 20_000_000 } }).call(textCall()));
    await scene.service.arrived(2);
    await scene.clock.advance(20_000_000);
    expect(await work).toBe('failed/total_timeout');
    expect(scene.records).toMatchObject([{ outcome: 'failed', error_code: 'total_timeout' }]);
  });

  test('spans all tries', async () => {
    scene.clock.passUpTo(100_000);
    scene.service.answers.push(...Array.from({ length: 10 }, () => answer(503, '', { 'retry-after': '100' })));
    const client = scene.client({ timeouts: { totalMs: 350_000 }, retry: { tries: 10 } });
    expect(await endOf(client.call(textCall()))).toBe('failed/total_timeout');
    expect(arrivals()).toEqual([0, 100_000, 200_000, 300_000]);
  });

  test('does not run while the call waits for its first turn', async () => {
    scene.clock.passUpTo(250_000);
    const client = scene.client({ timeouts: { totalMs: 300_000 } });
    const budget = { calls: 1, perSeconds: 200, concurrency: 1 };
    await Promise.all([1, 2, 3].map(() => client.call(textCall({ budget }))));
    expect(scene.records.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
    expect(scene.clock.now() - NOW_MS).toBeGreaterThanOrEqual(400_000);
  });
});

test('a call that is tried again keeps its place before those that came later', async () => {
  const client = scene.client();
  // With the token at hand the calls queue in the order in which they are made, whichever file is read first.
  await client.call(textCall({ path: '/before', endpoint: 'other' }));
  scene.service.answers.push(answer(503));
  const budget = { calls: 1, perSeconds: 10, concurrency: 1 };
  // The budget's ten seconds must not pass before the refused call has begun its pause.
  scene.clock.passUpTo(-1);
  const calls = Promise.all(['/a', '/b', '/c', '/d'].map((path) => client.call(textCall({ path, budget }))));
  await scene.clock.asleep((ms) => ms > 0 && ms < 5000);
  scene.clock.passUpTo(PASSING_MS);
  await scene.clock.advance(20_000);
  await calls;
  const asked = scene.service.calls.slice(1).map(({ url }) => url);
  expect(asked).toEqual(['/api/a', '/api/a', '/api/b', '/api/c', '/api/d']);
});
