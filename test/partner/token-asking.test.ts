/** One asks at a time, of all processes, and one that is killed over it holds the others up for no longer than a request may take. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pairOf } from '../../src/partner/token/circuit.ts';
import { type Circuit, changeTokenRow } from '../../src/store/tables/token.ts';
import { endOf, Scene } from './scene.ts';
import { answer, silence, tokenNamed } from './scripted-service.ts';

const OTHER = { id: 'token-of-the-other' };

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

/** Changes the row as another process does. */
async function change(more: (circuit: Circuit) => Partial<Circuit>): Promise<void> {
  await changeTokenRow(scene.state, pairOf(scene.settings()), (found) => [{ ...found!, ...more(found!) }, null]);
}

/** A row whose token has expired, and another process that asks for the next one until then. */
async function askedByAnother(forMs: number): Promise<void> {
  await scene.tokens().get();
  await scene.clock.advance(299_000);
  const nowMs = scene.clock.now();
  await change(() => ({ asking: { by: OTHER.id, atMs: nowMs, untilMs: nowMs + forMs } }));
  scene.clock.passUpTo(0);
}

test('one asks and the others find its token', async () => {
  const got = await Promise.all(Array.from({ length: 4 }, () => scene.tokens().get()));
  expect(new Set(got.map(({ value }) => value))).toEqual(new Set([tokenNamed(1)]));
  expect(scene.service.tokenRequests).toHaveLength(1);
});

describe('while another process asks', () => {
  test('nobody else does, and its token is taken when it comes', async () => {
    await askedByAnother(40_000);
    const waiting = scene.tokens().get();
    await scene.clock.asleep((ms) => ms === 50);
    const obtainedAtMs = scene.clock.now();
    const token = { value: OTHER.id, obtainedAtMs, expiresAtMs: obtainedAtMs + 299_000 };
    await change(() => ({ token, asking: null }));
    await scene.clock.advance(50);
    expect((await waiting).value).toBe(OTHER.id);
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('and is killed over it, the next one asks when its request must have ended', async () => {
    await askedByAnother(2000);
    const waiting = scene.tokens().get();
    await scene.clock.asleep((ms) => ms === 50);
    await scene.clock.advance(1950);
    expect(scene.service.tokenRequests).toHaveLength(1);
    await scene.clock.advance(100);
    expect((await waiting).value).toBe(tokenNamed(2));
  });

  test('by a clock that was set back since, it is not waited for', async () => {
    await askedByAnother(2000);
    scene.clock.set(scene.clock.now() - 3_600_000);
    expect((await scene.tokens().get()).value).toBe(tokenNamed(2));
  });
});

describe('a request', () => {
  test('says before it is sent who asks and until when: as long as it may take, and half a minute at the most beside the connection', async () => {
    const timeouts = { connectMs: 20_000_000, headersMs: 300_000_000 };
    let during: Circuit | null = null;
    scene.service.tokens.push(async (response, seen) => {
      during = await scene.circuit();
      await answer(503)(response, seen);
    });
    const begunMs = scene.clock.now();
    await scene.tokens({ timeouts }).get();
    expect(during).toMatchObject({ requestsMs: [begunMs], asking: { untilMs: begunMs + 20_000_000 + 31_000 } });
    expect((await scene.circuit())?.asking).toBeNull();
  });

  test('is given up by then, so that no other is made beside it', async () => {
    scene.service.tokens.push(silence);
    const timeouts = { connectMs: 20_000_000, headersMs: 300_000_000, totalMs: 900_000_000 };
    const got = endOf(scene.tokens({ timeouts, retry: { tries: 1 } }).get());
    await scene.service.arrived(1);
    await scene.clock.advance(20_030_000);
    expect(await got).toBe('failed/token_silence');
    expect((await scene.circuit())?.asking).toBeNull();
  });
});

test('a token that cannot be kept is used all the same', async () => {
  scene.service.tokens.push(async (response, seen) => {
    await scene.state.close();
    await answer(200, '{"access_token":"kept-by-nobody","token_type":"Bearer","expires_in":299}')(response, seen);
  });
  expect((await scene.tokens().get()).value).toBe('kept-by-nobody');
  expect(scene.log.of('warn').join('\n')).toContain('the token cannot be kept for other processes');
});
