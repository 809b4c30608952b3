import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { EtlError } from '../../../src/core/errors.ts';
import type { SignatureKey } from '../../../src/extract/subscription-shapes.ts';
import { SignatureKeys } from '../../../src/serve/signature/keys.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { State } from '../../../src/store/state.ts';
import { readMemo, writeMemo } from '../../../src/store/tables/memo.ts';
import { FakeClock } from '../../support/clock.ts';
import { signingKey } from '../../support/push.ts';
import { collectingLog, type LogLine, temporaryFolder } from '../receiver/scene.ts';

const OLD = signingKey('0').listed;
const NEW = signingKey('1').listed;
const HOUR_MS = 3_600_000;
/** How long a message waits for a fetch. */
const WAIT_MS = 3_000;

type Answer = readonly SignatureKey[] | EtlError | 'never';

interface Place {
  readonly state: State;
  readonly clock: FakeClock;
  readonly log: LogLine[];
  /** What the service says when it is asked next. */
  answer: Answer;
}

async function place(answer: Answer): Promise<Place> {
  const state = await openSqliteState(path.join(await temporaryFolder(), 'state.db'));
  onTestFinished(() => state.close());
  return { state, clock: new FakeClock(), log: [], answer };
}

async function open(at: Place): Promise<SignatureKeys> {
  const keys = await SignatureKeys.open({
    state: at.state,
    clock: at.clock,
    log: collectingLog(at.log),
    refreshSeconds: 60,
    fetchKeys: (signal) => {
      const { answer } = at;
      if (answer === 'never')
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      return answer instanceof EtlError ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  // Before the folder goes.
  onTestFinished(() => keys.close());
  return keys;
}

/** `known` for a key. */
async function lookedFor(keys: SignatureKeys, id: string): Promise<string> {
  const found = await keys.lookFor(id);
  return typeof found === 'string' ? found : 'known';
}

/** A fetch was made and answered. */
async function opened(at: Place): Promise<SignatureKeys> {
  const keys = await open(at);
  await keys.lookFor('any');
  return keys;
}

const DOWN = new EtlError('failed', 'connect', 'the service\u001b[2J cannot be reached');

describe('keys of the service', () => {
  test('are asked for at the start, and lie in the cache for the next', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    expect(keys.find('0')).toMatchObject({ signatureBytes: 256 });
    await keys.close();
    at.answer = DOWN;
    const again = await open(at);
    expect(again.find('0')).toBeDefined();
    expect(again.fetches).toBe(0);
  });

  test('that were fetched a day ago are asked for again, and used meanwhile', async () => {
    const at = await place([OLD]);
    await (await opened(at)).close();
    at.clock.set(at.clock.now() + 25 * HOUR_MS);
    at.answer = DOWN;
    const again = await open(at);
    expect(again.find('0')).toBeDefined();
    expect(again.fetches).toBe(1);
  });

  test('are asked for again while the receiver runs for days', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.answer = [NEW];
    at.clock.set(at.clock.now() + 25 * HOUR_MS);
    expect(keys.find('0')).toBeDefined();
    expect(await lookedFor(keys, '1')).toBe('known');
    expect(keys.find('0')).toBeUndefined();
  });

  test.each([
    ['of another shape', { keys: 7 }],
    ['with a broken key', { fetchedAtMs: Date.UTC(2026, 2, 14), keys: [{ ...OLD, publicKey: 'x' }] }],
  ])('are asked for when the cache is %s', async (_, cached) => {
    const at = await place([OLD]);
    await writeMemo(at.state, 'signature-keys', cached, '2026-03-14T00:00:00.000Z');
    const keys = await opened(at);
    expect([keys.fetches, keys.find('0') === undefined]).toEqual([1, false]);
    await keys.close();
  });

  test('an unknown one fetches them: a new key is known at once, and one that vanished is trusted no more', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.clock.set(at.clock.now() + 60_000);
    at.answer = [NEW];
    expect(await lookedFor(keys, '1')).toBe('known');
    expect(keys.find('0')).toBeUndefined();
    await keys.close();
    expect(await readMemo(at.state.db, 'signature-keys', z.unknown())).toMatchObject({ keys: [{ id: '1' }] });
  });

  test('1,000 unknown ones at once and 1,000 after them are one fetch; after a minute there is one more', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    const flood = () => Promise.all(Array.from({ length: 1000 }, (_, i) => lookedFor(keys, `forged${i}`)));
    expect(new Set(await flood())).toEqual(new Set(['unknown']));
    expect(keys.fetches).toBe(1);
    at.clock.set(at.clock.now() + 60_000);
    expect(new Set(await flood())).toEqual(new Set(['unknown', 'unavailable']));
    expect(new Set(await flood())).toEqual(new Set(['unknown']));
    expect(keys.fetches).toBe(2);
  });

  test('a wrong signature fetches them, too: the service may use an id again', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.answer = [{ ...NEW, id: '0' }];
    const before = keys.find('0');
    keys.doubt();
    expect(keys.fetches).toBe(1);
    at.clock.set(at.clock.now() + 60_000);
    keys.doubt();
    expect(await lookedFor(keys, 'x')).toBe('unknown');
    expect(keys.fetches).toBe(2);
    expect(keys.find('0')).not.toBe(before);
  });

  test('a clock that is set back does not put the next fetch off', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.clock.set(at.clock.now() - 24 * HOUR_MS);
    at.answer = [OLD, NEW];
    expect(await lookedFor(keys, '1')).toBe('known');
  });
});

describe('when the service does not tell its keys', () => {
  test('nothing is known of any, and each refresh is said once, in clean text', async () => {
    const at = await place(DOWN);
    const keys = await open(at);
    expect(await lookedFor(keys, '0')).toBe('unavailable');
    expect(await lookedFor(keys, '0')).toBe('unavailable');
    expect(at.log).toEqual([
      {
        level: 'warn',
        message: 'the signature keys cannot be fetched: the service[2J cannot be reached',
        fields: { code: 'failed/connect', known: 0 },
      },
    ]);
    at.clock.set(at.clock.now() + 60_000);
    at.answer = [OLD];
    expect(await lookedFor(keys, '0')).toBe('known');
  });

  test('the known ones stay, and an unknown one may be the service’s', async () => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.clock.set(at.clock.now() + 60_000);
    at.answer = DOWN;
    expect(await lookedFor(keys, '1')).toBe('unavailable');
    expect(keys.find('0')).toBeDefined();
  });

  test.each<[string, readonly SignatureKey[]]>([
    ['no key', []],
    ['only keys that cannot be used', [{ ...NEW, publicKey: 'x' }]],
  ])('but lists %s, that is taken for a mistake', async (_, listed) => {
    const at = await place([OLD]);
    const keys = await opened(at);
    at.clock.set(at.clock.now() + 60_000);
    at.answer = listed;
    expect(await lookedFor(keys, '1')).toBe('unavailable');
    expect(keys.find('0')).toBeDefined();
    expect(at.log.at(-1)?.message).toContain('none of its');
  });

  test('a broken key among good ones is left out and said', async () => {
    const at = await place([{ id: '\u001b[2J9', type: 'RSA', publicKey: 'x' }, OLD]);
    const keys = await opened(at);
    expect(keys.find('0')).toBeDefined();
    expect(at.log).toEqual([
      { level: 'warn', message: 'a signature key is left out', fields: { keyId: '[2J9', why: expect.any(String) } },
    ]);
  });

  test('in time, a message waits three seconds at the most, and only some at once wait', async () => {
    const at = await place('never');
    const keys = await open(at);
    const waiting = Array.from({ length: 64 }, () => lookedFor(keys, '0'));
    await at.clock.asleep((ms) => ms === WAIT_MS, 64);
    expect(await lookedFor(keys, '0')).toBe('unavailable');
    await at.clock.advance(WAIT_MS);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unavailable']));
    expect(at.clock.sleeping).not.toContain(WAIT_MS);
  });

  test('within half a minute, the fetch is given up', async () => {
    const at = await place('never');
    await open(at);
    await at.clock.asleep((ms) => ms === 30_000);
    await at.clock.advance(30_000);
    expect(at.log.map(({ message }) => message)).toEqual([expect.stringContaining('within 30000 ms')]);
  });

  test('a receiver that closes gives the fetch up without a word', async () => {
    const at = await place('never');
    const keys = await open(at);
    await keys.close();
    expect(await lookedFor(keys, '0')).toBe('unavailable');
    expect(at.log).toEqual([]);
    expect(at.clock.sleeping).toEqual([]);
  });

  test('a cache that cannot be written is said and does no harm', async () => {
    const at = await place(DOWN);
    const keys = await opened(at);
    await at.state.write((tx) => tx.schema.dropTable('memo').execute());
    at.clock.set(at.clock.now() + 60_000);
    at.answer = [OLD];
    expect(await lookedFor(keys, '0')).toBe('known');
    await keys.close();
    expect(at.log.map(({ message }) => message)).toEqual([
      expect.stringContaining('cannot be fetched'),
      expect.stringContaining('cannot be stored'),
    ]);
  });
});
