/** What was erased for a person, as src/extras/masking recognises it, and the record of each erasure. */

import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb } from '../state.ts';
import { inBatches } from './batches.ts';
import type { ErasedValueTable, ErasureTable } from './tables.ts';

export type ErasedRow = Omit<ErasedValueTable, 'account'>;

export interface ErasedList {
  /** null: nothing was ever erased. */
  readonly key: string | null;
  readonly values: readonly ErasedRow[];
}

export async function readErased(db: StateDb): Promise<ErasedList> {
  const key = await db.selectFrom('erasure_key').select('key').where('account', '=', ACCOUNT).executeTakeFirst();
  if (key === undefined) return { key: null, values: [] };
  const rows = await db
    .selectFrom('erased_value')
    .select(['kind', 'hmac', 'chars', 'mark'])
    .where('account', '=', ACCOUNT)
    .orderBy('kind')
    .orderBy('hmac')
    .execute();
  return { key: key.key, values: rows };
}

/** How many there are: none is ever taken out, so who has as many has all of them. */
export async function countErased(db: StateDb): Promise<number> {
  const { count } = await db
    .selectFrom('erased_value')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('account', '=', ACCOUNT)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Adds what is not there yet, under the key that the values were made with. */
export async function addErased(state: State, key: string, values: readonly ErasedRow[]): Promise<void> {
  await state.write(async (tx) => {
    await tx
      .insertInto('erasure_key')
      .values({ account: ACCOUNT, key })
      .onConflict((conflict) => conflict.column('account').doNothing())
      .execute();
    for (const some of inBatches(values))
      await tx
        .insertInto('erased_value')
        .values(some.map((value) => ({ account: ACCOUNT, ...value })))
        .onConflict((conflict) => conflict.columns(['account', 'kind', 'hmac']).doNothing())
        .execute();
  });
}

/** `asked` and `found` are JSON. Replaces what was noted of the same erasure. */
export async function noteErasure(state: State, row: Omit<ErasureTable, 'account'>): Promise<void> {
  const { erasure_id, ...values } = row;
  await state.write((tx) =>
    tx
      .insertInto('erasure')
      .values({ account: ACCOUNT, erasure_id, ...values })
      .onConflict((conflict) => conflict.columns(['account', 'erasure_id']).doUpdateSet(values))
      .execute(),
  );
}
