/** The state of a home directory, for a test that looks into it or leaves something there. */
import { homePaths } from '../../src/core/home.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';

export async function withState<T>(home: string, work: (state: State) => Promise<T>): Promise<T> {
  const state = await openSqliteState(homePaths(home).database);
  try {
    return await work(state);
  } finally {
    await state.close();
  }
}

/** As if nothing had ever been recorded of the pipeline's requests, or of that one. */
export function forgetFetches(home: string, pipeline: string, fetchId?: string): Promise<void> {
  return withState(home, (state) =>
    state.write(async (tx) => {
      const of = tx.deleteFrom('fetch').where('pipeline', '=', pipeline);
      await (fetchId === undefined ? of : of.where('fetch_id', '=', fetchId)).execute();
    }),
  );
}

/** As if look-ups had never asked for anything, or for none of the keys that look so. */
export function forgetAskedKeys(home: string, like = '%'): Promise<void> {
  return withState(home, (state) =>
    state.write(async (tx) => {
      const { numDeletedRows } = await tx.deleteFrom('asked').where('key', 'like', like).executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) throw new Error('nothing was asked for');
    }),
  );
}
