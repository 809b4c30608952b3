/** Single facts by name, as JSON: what a part of the program wants to find again, and can do without when it is lost. */
import type { ZodType } from 'zod';
import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb } from '../state.ts';

/** What was noted; null where nothing was, or something else than `shape`. */
export async function readMemo<T>(db: StateDb, name: string, shape: ZodType<T>): Promise<T | null> {
  const row = await db
    .selectFrom('memo')
    .select('value')
    .where('account', '=', ACCOUNT)
    .where('name', '=', name)
    .executeTakeFirst();
  return row === undefined ? null : (shape.safeParse(JSON.parse(row.value)).data ?? null);
}

/** `at`: ISO 8601 UTC. What was noted under the name before is gone. */
export async function writeMemo(state: State, name: string, value: unknown, at: string): Promise<void> {
  const noted = { value: JSON.stringify(value), noted_at: at };
  await state.write((tx) =>
    tx
      .insertInto('memo')
      .values({ account: ACCOUNT, name, ...noted })
      .onConflict((conflict) => conflict.columns(['account', 'name']).doUpdateSet(noted))
      .execute(),
  );
}

/** The same where nothing was noted under the name yet: of several that note at once the first counts. */
export async function writeFirstMemo(state: State, name: string, value: unknown, at: string): Promise<void> {
  const noted = { value: JSON.stringify(value), noted_at: at };
  await state.write((tx) =>
    tx
      .insertInto('memo')
      .values({ account: ACCOUNT, name, ...noted })
      .onConflict((conflict) => conflict.columns(['account', 'name']).doNothing())
      .execute(),
  );
}

export async function forgetMemo(state: State, name: string): Promise<void> {
  await state.write((tx) => tx.deleteFrom('memo').where('account', '=', ACCOUNT).where('name', '=', name).execute());
}
