import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endOf, errorOf, Scene, SECRET } from './scene.ts';
import { answer, granted, hangUp, silence, tokenNamed } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

describe('asking for a token', () => {
  test('is a POST with Basic credentials, Accept: application/json and no body', async () => {
    await scene.tokens().get();
    const [seen] = scene.service.tokenRequests;
    expect(seen).toMatchObject({ method: 'POST', url: '/auth/token?grant_type=client_credentials', body: '' });
    expect(seen?.headers.accept).toBe('application/json');
    expect(seen?.headers['content-length']).toBe('0');
    const basic = Buffer.from(`client-4711:${SECRET}`).toString('base64');
    expect(seen?.headers.authorization).toBe(`Basic ${basic}`);
  });

  test('happens once for many that need it at the same time', async () => {
    const tokens = scene.tokens();
    const got = await Promise.all(Array.from({ length: 20 }, () => tokens.get()));
    expect(new Set(got.map(({ value }) => value))).toEqual(new Set([tokenNamed(1)]));
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test.each([
    ['500', answer(500, 'Internal Server Error', { 'content-type': 'text/html' })],
    ['503', answer(503)],
    ['a lost connection', hangUp],
    ['an answer that is no JSON', answer(200, '<html>login</html>')],
    ['an answer without a token', answer(200, '{"token_type":"Bearer"}')],
    ['a token that would break out of its header', granted('abc\r\nX-Evil: 1')],
    ['an empty token', granted('')],
    ['an answer without an end', answer(200, `{"access_token":"${'x'.repeat(100_000)}"}`)],
  ])('is tried again after %s, with a pause', async (_name, first) => {
    scene.service.tokens.push(first);
    expect((await scene.tokens().get()).value).toBe(tokenNamed(1));
    expect(scene.service.tokenRequests).toHaveLength(2);
    expect(scene.service.tokenRequests[1]!.atMs - scene.service.tokenRequests[0]!.atMs).toBe(500);
  });

  test.each([
    ['garbage', answer(200, 'garbage'), 'failed/token_garbage'],
    ['trouble of the service', answer(502), 'failed/token_http_502'],
    ['lost connections', hangUp, 'failed/connection_lost'],
  ])('ends after three tries that met %s', async (_name, script, end) => {
    scene.service.tokens.push(script, script, script);
    expect(await endOf(scene.tokens().get())).toBe(end);
    expect(scene.service.tokenRequests).toHaveLength(3);
  });

  test.each([
    ['a redirect', answer(302, '', { location: 'http://127.0.0.1:1/' }), 'failed/token_http_302'],
    ['400 for another reason', answer(400, '{"error":"invalid_request"}'), 'failed/token_http_400'],
    ['another type of token', granted('mac-token', { token_type: 'mac' }), 'refused/token_type'],
  ])('ends at once after %s', async (_name, script, end) => {
    scene.service.tokens.push(script);
    expect(await endOf(scene.tokens().get())).toBe(end);
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('a 429 is followed by the pause that it names, for other processes too', async () => {
    scene.service.tokens.push(answer(429, '', { 'retry-after': '90' }), answer(503), answer(503));
    expect(await endOf(scene.tokens().get())).toBe('failed/token_http_503');
    scene.service.tokens.push(answer(429, '', { 'retry-after': '600' }));
    const first = scene.tokens({ retry: { tries: 1 } });
    expect(await endOf(first.get())).toBe('failed/token_http_429');
    await scene.tokens().get();
    const [a, b, , d, e] = scene.service.tokenRequests.map(({ atMs }) => atMs);
    expect(b! - a!).toBe(90_000);
    expect(e! - d!).toBe(600_000);
  });

  test('a 429 without a named pause is followed by a long one', async () => {
    scene.service.tokens.push(answer(429));
    await scene.tokens().get();
    const [a, b] = scene.service.tokenRequests.map(({ atMs }) => atMs);
    expect(b! - a!).toBe(60_000);
  });

  test('a pause longer than the time limit is not begun', async () => {
    scene.service.tokens.push(answer(429, '', { 'retry-after': '3000' }));
    scene.clock.passUpTo(60_000);
    const tokens = scene.tokens({ timeouts: { totalMs: 1_000_000 } });
    expect(await endOf(tokens.get())).toBe('failed/token_http_429');
    expect(await endOf(tokens.get())).toBe('failed/token_paused');
    expect(scene.clock.slept).not.toContain(3_000_000);
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('silence ends with the time limit', async () => {
    scene.service.tokens.push(silence);
    const got = endOf(scene.tokens({ timeouts: { totalMs: 30_000_000 } }).get());
    await scene.service.arrived(1);
    await scene.clock.advance(30_000_000);
    expect(await got).toBe('failed/token_timeout');
  });
});

describe('a token in use', () => {
  test('is reused until renewBeforeSeconds before it expires', async () => {
    const tokens = scene.tokens();
    await tokens.get();
    await scene.clock.advance(268_999);
    expect((await tokens.get()).value).toBe(tokenNamed(1));
    await scene.clock.advance(1);
    expect((await tokens.get()).value).toBe(tokenNamed(2));
    expect(scene.service.tokenRequests).toHaveLength(2);
  });

  test.each([
    ['absent', undefined, 299],
    ['zero', 0, 299],
    ['negative', -5, 299],
    ['a thousand years', 31_536_000_000, 299],
    ['no number', 'soon', 299],
    ['null', null, 299],
    ['a number as text', '120', 120],
    ['usual', 299, 299],
  ])('lives %s seconds', async (_name, expiresIn, seconds) => {
    scene.service.tokens.push(granted('some-token', { expires_in: expiresIn }));
    const token = await scene.tokens().get();
    expect([token.value, token.expiresAtMs - token.obtainedAtMs]).toEqual(['some-token', seconds * 1000]);
    expect(scene.service.tokenRequests).toHaveLength(1);
    expect(scene.log.of('warn').length).toBe(expiresIn === 299 || expiresIn === '120' ? 0 : 1);
  });

  test.each([
    ['exp and iat, by whichever clock', undefined, { iat: 1_000, exp: 1_600 }, 600],
    ['exp alone, by the Date of the answer', undefined, { exp: 5_000_000_120 }, 120],
    ['expires_in before exp', 60, { iat: 1_000, exp: 1_600 }, 60],
    ['exp where expires_in is no number', 'soon', { iat: 1_000, exp: 1_600 }, 600],
    ['no more than a day of exp', undefined, { iat: 1_000, exp: 99_999_999_999 }, 299],
    ['nothing where exp is past', undefined, { iat: 1_000, exp: 900 }, 299],
    ['nothing where exp is no number', undefined, { iat: 1_000, exp: 'late' }, 299],
    ['nothing where there is no exp', undefined, {}, 299],
    ['nothing where the claims are no object', undefined, null, 299],
  ])('lives as long as its JWT says: %s', async (_name, expiresIn, claims, seconds) => {
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2lnbmF0dXJl`;
    const date = new Date(5_000_000_000_000).toUTCString();
    scene.service.tokens.push(granted(jwt, { expires_in: expiresIn }, { date }));
    const token = await scene.tokens().get();
    expect([token.value, token.expiresAtMs - token.obtainedAtMs]).toEqual([jwt, seconds * 1000]);
    expect(scene.log.of('warn')).toHaveLength(seconds === 299 ? 1 : 0);
  });

  test('that lives shorter than renewBeforeSeconds is still used for half of its life', async () => {
    scene.service.tokens.push(granted('short-token', { expires_in: 20 }));
    const tokens = scene.tokens();
    await tokens.get();
    await scene.clock.advance(9_999);
    expect((await tokens.get()).value).toBe('short-token');
    await scene.clock.advance(1);
    expect((await tokens.get()).value).toBe(tokenNamed(1));
  });

  test('lies in the state and serves the next process', async () => {
    await scene.tokens().get();
    expect((await scene.circuit())?.token?.value).toBe(tokenNamed(1));
    expect((await scene.tokens().get()).value).toBe(tokenNamed(1));
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('is not taken for new after the clock was set back', async () => {
    const tokens = scene.tokens();
    await tokens.get();
    scene.clock.set(scene.clock.now() - 3_600_000);
    expect((await tokens.get()).value).toBe(tokenNamed(2));
  });

  test('of other credentials is not used', async () => {
    await scene.tokens().get();
    expect((await scene.tokens({ credentials: { clientSecret: 'another-secret' } }).get()).value).toBe(tokenNamed(2));
  });

  test('is described without asking anybody', async () => {
    const tokens = scene.tokens();
    const before = { expiresAt: null, circuit: 'closed', refusal: null, said: null, notBefore: null };
    expect(await tokens.state()).toEqual({ ...before, requestsLastHour: 0, mostPerHour: 20 });
    await tokens.get();
    const expiresAt = new Date(scene.clock.now() + 299_000).toISOString();
    expect(await tokens.state()).toMatchObject({ expiresAt, circuit: 'closed', requestsLastHour: 1 });
    expect(scene.service.tokenRequests).toHaveLength(1);
  });
});

describe('a rejected token', () => {
  test('is renewed once for all that had it rejected', async () => {
    const tokens = scene.tokens();
    const rejected = await tokens.get();
    const renewed = await Promise.all(Array.from({ length: 5 }, () => tokens.renew(rejected)));
    expect(new Set(renewed.map(({ value }) => value))).toEqual(new Set([tokenNamed(2)]));
    expect((await tokens.renew(rejected)).value).toBe(tokenNamed(2));
    expect(scene.service.tokenRequests).toHaveLength(2);
  });

  test('is not given out while its successor is on the way', async () => {
    const tokens = scene.tokens();
    const rejected = await tokens.get();
    const [renewed, got] = await Promise.all([tokens.renew(rejected), tokens.get()]);
    expect([renewed.value, got.value]).toEqual([tokenNamed(2), tokenNamed(2)]);
  });

  test('is replaced by the one that another process has got since, without a request', async () => {
    const [one, other] = [scene.tokens(), scene.tokens()];
    const rejected = await one.get();
    await other.get();
    await other.renew(rejected);
    expect((await one.renew(rejected)).value).toBe(tokenNamed(2));
    expect(scene.service.tokenRequests).toHaveLength(2);
  });

  test('that the service gives again is handed on: the call that uses it ends', async () => {
    scene.service.tokens.push(granted('same-token'), granted('same-token'));
    const tokens = scene.tokens();
    const rejected = await tokens.get();
    expect((await tokens.renew(rejected)).value).toBe('same-token');
    expect((await tokens.get()).value).toBe('same-token');
    expect(scene.service.tokenRequests).toHaveLength(2);
  });
});

describe('giving up', () => {
  test('one who waits may leave, and the others get their token', async () => {
    let go: () => void = () => undefined;
    scene.service.tokens.push((response, seen) => {
      go = () => granted('late-token')(response, seen) as undefined;
    });
    const tokens = scene.tokens();
    const stop = new AbortController();
    const [left, stayed] = [errorOf(tokens.get(stop.signal)), tokens.get()];
    await scene.service.arrived(1);
    stop.abort(new Error('enough'));
    expect((await left).message).toBe('enough');
    go();
    expect((await stayed).value).toBe('late-token');
  });

  test('the request ends when nobody waits for it any more, and the next one starts afresh', async () => {
    scene.service.tokens.push(silence);
    const tokens = scene.tokens();
    const stop = new AbortController();
    const left = errorOf(tokens.get(stop.signal));
    await scene.service.arrived(1);
    stop.abort(new Error('enough'));
    expect((await left).message).toBe('enough');
    expect((await tokens.get()).value).toBe(tokenNamed(1));
    expect(scene.service.tokenRequests).toHaveLength(2);
  });
});
