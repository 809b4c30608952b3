/** What the processes of an installation know in common about the budget of an endpoint. What it means is decided in partner/pacing/budget.ts. */

import { ACCOUNT } from '../../core/account.ts';
import { isoTime } from '../../core/clock.ts';
import type { State, StateTransaction } from '../state.ts';

/** One that makes calls. */
export interface Asker {
  readonly id: string;
  /** When it was last seen, in epoch milliseconds. */
  readonly seenMs: number;
  /** Calls that it has made or wants to make. */
  readonly demand: number;
  /** When each of its calls no longer counts, in epoch milliseconds. */
  readonly leavesMs: readonly number[];
}

export interface Budget {
  /** The service wants no call before, in epoch milliseconds; 0: it may be called. */
  readonly heldUntilMs: number;
  readonly askers: readonly Asker[];
}

/**
 * Puts what `change` makes of the endpoint's budget in its place, alone among all processes. `isSynced`: it must still be known when the
 * machine has started again. Of a second's budget nothing counts any more then, and to sync each call would take longer than the rest of it.
 */
export async function changeBudget(
  state: State,
  { endpoint, isSynced }: { readonly endpoint: string; readonly isSynced: boolean },
  change: (found: Budget) => Budget,
): Promise<void> {
  const write = isSynced ? state.write : state.writeUnsynced;
  await write(async (tx) => {
    const { heldUntilMs, askers } = change(await readBudget(tx, endpoint));
    const row = { held_until: heldUntilMs === 0 ? null : isoTime(heldUntilMs), askers: JSON.stringify(askers) };
    await tx
      .insertInto('budget')
      .values({ account: ACCOUNT, endpoint, ...row })
      .onConflict((conflict) => conflict.columns(['account', 'endpoint']).doUpdateSet(row))
      .execute();
  });
}

async function readBudget(tx: StateTransaction, endpoint: string): Promise<Budget> {
  const row = await tx
    .selectFrom('budget')
    .select(['held_until', 'askers'])
    .where('account', '=', ACCOUNT)
    .where('endpoint', '=', endpoint)
    .executeTakeFirst();
  if (row === undefined) return { heldUntilMs: 0, askers: [] };
  return { heldUntilMs: row.held_until === null ? 0 : Date.parse(row.held_until), askers: JSON.parse(row.askers) };
}
