import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endBan, pairOf } from '../../src/partner/token/circuit.ts';
import { type Circuit, changeTokenRow } from '../../src/store/tables/token.ts';
import { endOf, errorOf, Scene } from './scene.ts';
import { answer, hangUp, tokenNamed } from './scripted-service.ts';

const HOUR_MS = 3_600_000;
const WRONG = answer(401, '{"error":"invalid_client","error_description":"Bad client credentials"}');
const BANNED = answer(404, '<html><body>Not Found</body></html>', { 'content-type': 'text/html' });

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

/** What a new process is told, and whether it asked the service. */
async function ask(overrides = {}): Promise<[end: string, requests: number]> {
  const before = scene.service.tokenRequests.length;
  const work = scene
    .tokens(overrides)
    .get()
    .then((token) => token.value);
  const end = await work.catch(() => endOf(work));
  return [end, scene.service.tokenRequests.length - before];
}

describe('a refusal opens the circuit', () => {
  test.each([
    ['401', WRONG, 'refused/credentials_refused'],
    ['401 without a body', answer(401), 'refused/credentials_refused'],
    ['400 invalid_client', answer(400, '{"error":"invalid_client"}'), 'refused/credentials_refused'],
    ['403', answer(403), 'refused/credentials_refused'],
    ['404', BANNED, 'refused/address_banned'],
  ])('%s: nobody asks again, in this process or the next one', async (_name, script, end) => {
    scene.service.tokens.push(script);
    const tokens = scene.tokens();
    expect(await endOf(tokens.get())).toBe(end);
    expect(await endOf(tokens.get())).toBe(end);
    expect(await ask()).toEqual([end, 0]);
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('the error says what was answered, when a try is allowed, and the fix', async () => {
    scene.service.tokens.push(WRONG);
    const error = await errorOf(scene.tokens().get());
    const then = new Date(scene.clock.now() + HOUR_MS).toISOString();
    expect(error.message).toContain('HTTP 401: invalid_client; Bad client credentials');
    expect(error.message).toContain(`the next try is allowed at ${then}`);
    expect(error.hint).toContain('PARTNER_CLIENT_SECRET');
    expect(await scene.tokens().state()).toMatchObject({
      circuit: 'open',
      refusal: 'credentials_refused',
      said: 'invalid_client; Bad client credentials',
      notBefore: then,
    });
  });

  test('a ban is told with its fix', async () => {
    scene.service.tokens.push(BANNED);
    const error = await errorOf(scene.tokens().get());
    expect(error.message).toContain('HTTP 404: Not Found');
    expect(error.hint).toContain('PARTNER_AUTH_URL');
    expect(error.hint).toContain('doctor --online --ban-lifted');
  });

  test('a ban that is said to be lifted allows one request at once, and opens again where it is not', async () => {
    scene.service.tokens.push(BANNED, BANNED);
    await ask();
    const lift = () => endBan(scene.state, scene.settings(), scene.clock.now());
    await lift();
    expect(await ask()).toEqual(['refused/address_banned', 1]);
    expect(await ask()).toEqual(['refused/address_banned', 0]);
    await lift();
    expect(await ask()).toEqual([tokenNamed(1), 1]);
  });

  test('refused credentials are not tried again because a ban is said to be lifted', async () => {
    scene.service.tokens.push(WRONG);
    await ask();
    await endBan(scene.state, scene.settings(), scene.clock.now());
    expect(await ask()).toEqual(['refused/credentials_refused', 0]);
  });

  test('a token that is still good goes on being used', async () => {
    const tokens = scene.tokens();
    const rejected = await tokens.get();
    scene.service.tokens.push(WRONG);
    expect(await endOf(scene.tokens().renew(rejected))).toBe('refused/credentials_refused');
    expect((await tokens.get()).value).toBe(tokenNamed(1));
  });
});

describe('half open', () => {
  beforeEach(async () => {
    scene.service.tokens.push(WRONG);
    expect(await ask()).toEqual(['refused/credentials_refused', 1]);
    await scene.clock.advance(HOUR_MS - 1);
    expect(await ask()).toEqual(['refused/credentials_refused', 0]);
    await scene.clock.advance(1);
    expect(await scene.tokens().state()).toMatchObject({ circuit: 'half-open', notBefore: null });
  });

  test('one try is allowed, and a grant closes the circuit', async () => {
    expect(await ask()).toEqual([tokenNamed(1), 1]);
    expect(await scene.tokens().state()).toMatchObject({ circuit: 'closed', refusal: null });
  });

  test('a refusal opens it for twice as long each time, up to a day', async () => {
    for (const hours of [2, 4, 8, 16, 24, 24]) {
      scene.service.tokens.push(WRONG);
      expect(await ask()).toEqual(['refused/credentials_refused', 1]);
      await scene.clock.advance(hours * HOUR_MS - 1);
      expect(await ask()).toEqual(['refused/credentials_refused', 0]);
      await scene.clock.advance(1);
    }
    expect(await ask()).toEqual([tokenNamed(1), 1]);
  });

  test.each([
    ['trouble of the service', answer(503), 'failed/token_http_503'],
    ['a lost connection', hangUp, 'failed/connection_lost'],
  ])('%s decides nothing, and is not followed by another try', async (_name, script, end) => {
    scene.service.tokens.push(script);
    expect(await ask()).toEqual([end, 1]);
    expect(await scene.tokens().state()).toMatchObject({ circuit: 'half-open' });
    expect(await ask()).toEqual([tokenNamed(1), 1]);
  });

  test('a process that dies during the try leaves the circuit open', async () => {
    let during: Circuit | null = null;
    scene.service.tokens.push(async (response, seen) => {
      during = await scene.circuit();
      await answer(503)(response, seen);
    });
    await ask();
    await changeTokenRow(scene.state, pairOf(scene.settings()), () => [{ ...during!, asking: null }, null]);
    expect(await ask()).toEqual(['refused/credentials_refused', 0]);
  });

  test('only one of two processes makes the try', async () => {
    scene.service.tokens.push(WRONG);
    const ends = await Promise.all([ask(), ask()]);
    expect(ends.map(([end]) => end)).toEqual(['refused/credentials_refused', 'refused/credentials_refused']);
    expect(scene.service.tokenRequests).toHaveLength(2);
  });
});

describe('changed credentials', () => {
  const changed = { credentials: { clientSecret: 'a-new-secret' } };

  test('close a circuit that the old ones opened', async () => {
    scene.service.tokens.push(WRONG);
    await ask();
    expect(await ask(changed)).toEqual([tokenNamed(1), 1]);
  });

  test('do not lift a ban', async () => {
    scene.service.tokens.push(BANNED);
    await ask();
    expect(await ask(changed)).toEqual(['refused/address_banned', 0]);
  });

  test('are told apart by a salted print, and the state holds no secret', async () => {
    scene.service.tokens.push(WRONG);
    await ask();
    const first = await scene.circuit();
    expect(first?.print).toEqual({
      salt: expect.stringMatching(/^[0-9a-f]{32}$/),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe('the ceiling', () => {
  const few = { token: { mostPerHour: 3 } };

  test('counts the requests of all processes, also failed ones', async () => {
    scene.service.tokens.push(answer(503), answer(503), answer(503));
    expect(await ask(few)).toEqual(['failed/token_http_503', 3]);
    expect(await ask(few)).toEqual(['refused/token_budget', 0]);
    expect(await scene.tokens(few).state()).toMatchObject({ requestsLastHour: 3, mostPerHour: 3, circuit: 'closed' });
  });

  test('is a ceiling for any hour, and the error says when it is passed', async () => {
    const tokens = scene.tokens(few);
    for (const _ of [1, 2, 3]) {
      await tokens.get();
      await scene.clock.advance(600_000);
    }
    const error = await errorOf(tokens.get());
    expect(`${error.kind}/${error.code}`).toBe('refused/token_budget');
    expect(error.message).toContain(new Date(scene.clock.now() + HOUR_MS - 1_800_000).toISOString());
    await scene.clock.advance(HOUR_MS - 1_800_000 - 1);
    expect(await endOf(tokens.get())).toBe('refused/token_budget');
    await scene.clock.advance(1);
    expect((await tokens.get()).value).toBe(tokenNamed(4));
  });
});

describe('a clock that was set back', () => {
  beforeEach(() => scene.clock.set(scene.clock.now() + 100 * HOUR_MS));

  test('makes the ceiling last an hour more, and not until the old time comes again', async () => {
    const one = { token: { mostPerHour: 1 } };
    expect(await ask(one)).toEqual([tokenNamed(1), 1]);
    scene.clock.set(scene.clock.now() - 100 * HOUR_MS);
    expect(await ask(one)).toEqual(['refused/token_budget', 0]);
    await scene.clock.advance(HOUR_MS);
    expect(await ask(one)).toEqual([tokenNamed(2), 1]);
  });

  test('makes an open circuit begin anew, and not last until the old time comes again', async () => {
    scene.service.tokens.push(WRONG);
    expect(await ask()).toEqual(['refused/credentials_refused', 1]);
    scene.clock.set(scene.clock.now() - 100 * HOUR_MS);
    expect(await ask()).toEqual(['refused/credentials_refused', 0]);
    await scene.clock.advance(HOUR_MS);
    expect(await ask()).toEqual([tokenNamed(1), 1]);
  });
});
