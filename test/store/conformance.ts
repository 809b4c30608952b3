/** What every state database must do, whichever engine holds it. */
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ACCOUNT } from '../../src/core/account.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { State, StateTransaction } from '../../src/store/state.ts';
import { adoptInstallation, installationOf } from '../../src/store/tables/installation.ts';
import { askedConformance } from './conformance/asked.ts';
import { budgetConformance } from './conformance/budget.ts';
import { fetchesConformance } from './conformance/fetches.ts';
import { runsConformance } from './conformance/runs.ts';
import { tokenConformance } from './conformance/token.ts';

/** A place for one state, empty at first. */
export interface StatePlace {
  open(): Promise<State>;
  /** Sets the version that the place says it has. */
  setVersion(version: number): Promise<void>;
  remove(): Promise<void>;
}

export function stateConformance(newPlace: () => Promise<StatePlace>): void {
  let place: StatePlace;
  const opened: State[] = [];
  const open = async (): Promise<State> => {
    const state = await place.open();
    opened.push(state);
    return state;
  };

  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((state) => state.close()));
    await place.remove();
  });

  const memo = { account: ACCOUNT, name: 'count', noted_at: '2026-03-01T00:00:00.000Z' };
  const set = (tx: StateTransaction, value: string) =>
    tx
      .insertInto('memo')
      .values({ ...memo, value })
      .onConflict((conflict) => conflict.columns(['account', 'name']).doUpdateSet({ value }))
      .execute();
  const valueIn = async (db: State['db']) =>
    (await db.selectFrom('memo').select('value').where('name', '=', 'count').executeTakeFirst())?.value;

  describe('writing', () => {
    test('what a transaction wrote is there for whoever opens the state afterwards', async () => {
      const first = await open();
      await first.write((tx) => set(tx, '1'));
      await first.close();
      opened.pop();
      expect(await valueIn((await open()).db)).toBe('1');
    });

    test('a transaction that throws leaves nothing, and the next one works', async () => {
      const state = await open();
      const failing = state.write(async (tx) => {
        await set(tx, '1');
        throw new Error('stop');
      });
      await expect(failing).rejects.toThrow('stop');
      expect(await valueIn(state.db)).toBeUndefined();
      await state.write((tx) => set(tx, '2'));
      expect(await valueIn(state.db)).toBe('2');
    });

    test('one that is not synced is seen by others, takes its turn among them, and leaves the rest as it was', async () => {
      const states = await Promise.all([open(), open()]);
      await states[0].write((tx) => set(tx, '0'));
      const addOne = (tx: StateTransaction) => valueIn(tx).then((value) => set(tx, String(Number(value) + 1)));
      await Promise.all(
        states.flatMap((state) =>
          Array.from({ length: 20 }, (_, i) => (i % 2 ? state.write : state.writeUnsynced)(addOne)),
        ),
      );
      expect(await valueIn(states[1].db)).toBe('40');
      await expect(states[0].writeUnsynced(() => Promise.reject(new Error('stop')))).rejects.toThrow('stop');
      const setting = states[0].engine === 'sqlite' ? sql`PRAGMA synchronous` : sql`SHOW synchronous_commit`;
      expect(Object.values((await setting.execute(states[0].db)).rows[0] as object)).toEqual([
        states[0].engine === 'sqlite' ? 2 : 'on',
      ]);
    });

    test('what was read in a transaction is not changed by others before it commits', async () => {
      const states = await Promise.all([open(), open(), open()]);
      await states[0].write((tx) => set(tx, '0'));
      const addOne = (state: State) => state.write(async (tx) => set(tx, String(Number(await valueIn(tx)) + 1)));
      await Promise.all(
        states.map(async (state) => {
          for (let i = 0; i < 30; i++) await addOne(state);
        }),
      );
      expect(await valueIn(states[0].db)).toBe('90');
    });
  });

  describe('reading', () => {
    test('does not wait for a transaction that is open elsewhere, and sees what was committed before it', async () => {
      const [writer, reader] = await Promise.all([open(), open()]);
      await writer.write((tx) => set(tx, 'before'));
      await writer.write(async (tx) => {
        await set(tx, 'after');
        expect(await valueIn(reader.db)).toBe('before');
      });
      expect(await valueIn(reader.db)).toBe('after');
    });

    test('counts and whole numbers come as numbers', async () => {
      const { db } = await open();
      const { version } = await db.selectFrom('state_version').select('version').executeTakeFirstOrThrow();
      const { count } = await db
        .selectFrom('memo')
        .select((e) => e.fn.countAll().as('count'))
        .executeTakeFirstOrThrow();
      expect([version, count]).toEqual([1, 0]);
    });
  });

  test('an installation has one id, also where several processes ask for it at once', async () => {
    const states = await Promise.all([open(), open(), open()]);
    const ids = await Promise.all(states.map((state) => installationOf(state, systemClock)));
    expect(new Set(ids).size).toBe(1);
    await adoptInstallation(states[0]!, 'another', memo.noted_at);
    expect(await installationOf(states[1]!, systemClock)).toBe(ids[0]);
  });

  test('made anew it holds what it held', async () => {
    const state = await open();
    await state.write((tx) => set(tx, '1'));
    await state.compact();
    expect(await valueIn((await open()).db)).toBe('1');
  });

  budgetConformance(open);
  tokenConformance(open);

  describe('opening', () => {
    test('ten at once make the tables once', async () => {
      const states = await Promise.all(Array.from({ length: 10 }, open));
      const versions = await states[9]!.db.selectFrom('state_version').selectAll().execute();
      expect(versions).toEqual([{ version: 1 }]);
    });

    test.each([
      [2, 'newer_state', 'update this partner-etl'],
      [0, 'older_state', 'begin a new home'],
    ])('a state of version %i is refused', async (version, code, hint) => {
      await open();
      await place.setVersion(version);
      await expect(open()).rejects.toMatchObject({ kind: 'failed', code, hint: expect.stringContaining(hint) });
    });

    test('every table but the version carries the account', async () => {
      const { db } = await open();
      const tables = (await db.introspection.getTables()).filter(({ name }) => name !== 'state_version');
      expect(tables.length).toBeGreaterThan(0);
      const without = tables.filter(({ columns }) => !columns.some(({ name }) => name === 'account'));
      expect(without.map(({ name }) => name)).toEqual([]);
    });
  });

  describe('runs', () => runsConformance(open));
  describe('fetches', () => fetchesConformance(open));
  describe('what was asked', () => askedConformance(open));
}
