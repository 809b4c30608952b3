/**
 * Slices that a blocking check keeps out of a target, and the contents that a person has released. The lake holds such a slice like any
 * other; what is kept here is for those who look between publications, and so that a release lasts.
 */

import { ACCOUNT } from '../../core/account.ts';
import type { State, StateDb } from '../state.ts';
import { inBatches } from './batches.ts';
import type { CheckHoldTable } from './tables.ts';

export type CheckHoldRow = Omit<CheckHoldTable, 'account'>;

/** Those of all targets, or of one. */
export async function readCheckHolds(db: StateDb, target?: string): Promise<CheckHoldRow[]> {
  const all = db.selectFrom('check_hold').selectAll().where('account', '=', ACCOUNT);
  const wanted = target === undefined ? all : all.where('target', '=', target);
  const rows = await wanted.orderBy('target').orderBy('pipeline').orderBy('slice_day').execute();
  return rows.map(({ account: _, ...row }) => row);
}

/** What the target's checks hold now, instead of what they held before. */
export async function writeCheckHolds(
  state: State,
  target: string,
  holds: readonly Omit<CheckHoldRow, 'target'>[],
): Promise<void> {
  await state.write(async (tx) => {
    await tx.deleteFrom('check_hold').where('account', '=', ACCOUNT).where('target', '=', target).execute();
    const rows = holds.map((hold) => ({ account: ACCOUNT, target, ...hold }));
    for (const some of inBatches(rows)) await tx.insertInto('check_hold').values(some).execute();
  });
}

/** Digest → since when it is released. */
export async function readReleased(db: StateDb): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('released_content')
    .select(['digest', 'released_at'])
    .where('account', '=', ACCOUNT)
    .execute();
  return new Map(rows.map(({ digest, released_at: at }) => [digest, at]));
}

/** Adds to what is released. */
export async function writeReleased(state: State, released: ReadonlyMap<string, string>): Promise<void> {
  const rows = [...released].map(([digest, released_at]) => ({ account: ACCOUNT, digest, released_at }));
  await state.write(async (tx) => {
    for (const some of inBatches(rows))
      await tx
        .insertInto('released_content')
        .values(some)
        .onConflict((conflict) => conflict.columns(['account', 'digest']).doNothing())
        .execute();
  });
}
