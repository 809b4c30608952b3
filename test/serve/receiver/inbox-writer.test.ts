import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { InboxWriter } from '../../../src/serve/receiver/inbox-writer.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import type { State } from '../../../src/store/state.ts';
import { ROW_BYTES, removeDeliveries } from '../../../src/store/tables/inbox.ts';
import { FakeClock } from '../../support/clock.ts';
import { delivery, deliveryOf, waitingIn } from '../../support/inbox.ts';
import { collectingLog, type LogLine, temporaryFolder } from './scene.ts';

const refusedWith = (code: string) => expect.objectContaining({ kind: 'retry', code });
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

interface Place {
  readonly state: State;
  readonly clock: FakeClock;
  readonly log: LogLine[];
  /** Transactions so far. */
  writes: number;
  /** Waited for in each transaction. */
  beforeCommit: () => Promise<void>;
}

async function place(): Promise<Place> {
  const state = await openSqliteState(path.join(await temporaryFolder(), 'state.db'));
  onTestFinished(() => state.close());
  const at: Place = { state, clock: new FakeClock(), log: [], writes: 0, beforeCommit: async () => undefined };
  return at;
}

async function open(at: Place, mostBytes = 1e9): Promise<InboxWriter> {
  const watched: State = {
    ...at.state,
    write: (work) => {
      at.writes += 1;
      return at.state.write(async (tx) => {
        const result = await work(tx);
        await at.beforeCommit();
        return result;
      });
    },
  };
  const writer = await InboxWriter.open({ state: watched, clock: at.clock, mostBytes, log: collectingLog(at.log) });
  onTestFinished(() => writer.close());
  return writer;
}

const stored = async ({ state }: Place) =>
  (await waitingIn(state)).map(({ body }) => Number(/"resourceId":"(\d+)"/.exec(Buffer.from(body).toString())?.[1]));

/** Holds the next transaction back until it is let go. */
function heldCommit(at: Place) {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    at.beforeCommit = () => {
      resolve();
      return held;
    };
  });
  return { begun, letGo };
}

describe('what is appended', () => {
  test('is committed when append resolves, in the order in which it came', async () => {
    const at = await place();
    const writer = await open(at);
    await writer.append(delivery(0));
    expect(await stored(at)).toEqual([0]);
    await Promise.all(numbers(1, 50).map((n) => writer.append(delivery(n))));
    expect(await stored(at)).toEqual(numbers(0, 50));
  });

  test('while one transaction goes on goes together into the next', async () => {
    const at = await place();
    const writer = await open(at);
    const { begun, letGo } = heldCommit(at);
    const order: number[] = [];
    const append = (n: number) => writer.append(delivery(n)).then(() => order.push(n));
    const first = append(0);
    await begun;
    const others = numbers(1, 1000).map(append);
    expect(order).toEqual([]);
    letGo();
    await Promise.all([first, ...others]);
    expect([at.writes, order]).toEqual([2, numbers(0, 1000)]);
  });

  test('at the end is committed, and what comes later refused', async () => {
    const at = await place();
    const writer = await open(at);
    const { begun, letGo } = heldCommit(at);
    const appends = [writer.append(delivery(0))];
    await begun;
    appends.push(writer.append(delivery(1)));
    const closing = writer.close();
    await expect(writer.append(delivery(2))).rejects.toThrow(refusedWith('inbox_failed'));
    letGo();
    await Promise.all([...appends, closing, writer.close()]);
    expect(await stored(at)).toEqual([0, 1]);
  });
});

describe('the inbox is full', () => {
  test('when more waits for the disk than memory should hold', async () => {
    const at = await place();
    const writer = await open(at);
    const { begun, letGo } = heldCommit(at);
    const first = writer.append(delivery(0));
    await begun;
    const large = deliveryOf(Buffer.alloc(1024 * 1024));
    const settled = Promise.allSettled(numbers(0, 30).map(() => writer.append(large)));
    letGo();
    const results = await settled;
    await first;
    const taken = results.filter(({ status }) => status === 'fulfilled').length;
    expect(taken).toBe(7);
    for (const refused of results.slice(taken))
      expect(refused).toEqual({ status: 'rejected', reason: refusedWith('inbox_full') });
    await writer.append(large);
    expect(await stored(at)).toHaveLength(1 + 7 + 1);
  });

  test('when all that waits is too much, until the pipeline has taken it in; also for who starts then', async () => {
    const at = await place();
    const size = delivery(0).body.length + ROW_BYTES;
    const writer = await open(at, 3 * size);
    for (const n of [0, 1, 2]) await writer.append(delivery(n));
    await expect(writer.append(delivery(3))).rejects.toThrow(refusedWith('inbox_full'));
    await expect((await open(at, 3 * size)).append(delivery(3))).rejects.toThrow(refusedWith('inbox_full'));
    await removeDeliveries(at.state, (await waitingIn(at.state))[0]!.deliveryId);
    await at.clock.advance(1000);
    // This one is still refused, and has the size asked for again.
    await expect(writer.append(delivery(4))).rejects.toThrow(refusedWith('inbox_full'));
    await new Promise((resolve) => setImmediate(resolve));
    await writer.append(delivery(5));
    expect(await stored(at)).toEqual([1, 2, 5]);
  });
});

describe('a full disk', () => {
  /** As many pages as it has now and so many more. */
  const roomOf = async ({ state }: Place, more: number) => {
    const { rows } = await sql<{ page_count: number }>`PRAGMA page_count`.execute(state.db);
    await sql.raw(`PRAGMA max_page_count = ${rows[0]!.page_count + more}`).execute(state.db);
  };

  test('refuses all that waited for the transaction, says so once, and goes on when there is room', async () => {
    const at = await place();
    const writer = await open(at);
    await writer.append(delivery(0));
    await roomOf(at, 2);
    const large = deliveryOf('x'.repeat(50_000));
    const results = await Promise.allSettled([writer.append(delivery(1)), writer.append(large)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(writer.append(large)).rejects.toMatchObject({
      ...{ kind: 'retry', code: 'inbox_failed', message: expect.stringMatching(/cannot write: .*disk is full/) },
      hint: expect.stringContaining('disk'),
    });
    expect(writer.isTaking).toBe(false);
    await roomOf(at, 1000);
    // No message must be lost to find out that there is room again.
    await expect.poll(async () => [writer.isTaking, await at.clock.advance(1000)][0]).toBe(true);
    await writer.append(delivery(2));
    expect(await stored(at)).toEqual([0, 2]);
    expect(at.log.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'error the inbox cannot write; messages are refused',
      'info the inbox writes again',
    ]);
  });
});
