/** Rows of fetches, on either engine. */
import { expect, test } from 'vitest';
import { earliestId } from '../../../src/core/ids.ts';
import type { FetchRecord } from '../../../src/core/records.ts';
import type { State } from '../../../src/store/state.ts';
import {
  fetchesByObject,
  fetchesFrom,
  fetchesOfRun,
  fetchesOfRuns,
  fetchesWritten,
  insertFetches,
  insertMissing,
  knownFetches,
  lastWritten,
  markApplied,
  markPruned,
  pendingFetches,
  prunedSince,
  putFetch,
  replaceFetches,
} from '../../../src/store/tables/fetches.ts';
import { rewriteTexts } from '../../../src/store/tables/rewrite.ts';
import { fetchOf, gathered } from '../../extract/lookup-scene.ts';

const ids = (fetches: readonly FetchRecord[]) => fetches.map(({ fetch_id: id }) => id);
const numbered = (...numbers: number[]) => numbers.map((n) => fetchOf(n));
const PIPELINE = fetchOf(0).pipeline;

export function fetchesConformance(open: () => Promise<State>): void {
  const all = (state: State, from = '') => gathered(fetchesFrom(state.db, { pipeline: PIPELINE, from }));

  test('come back as they were written, with or without an answer', async () => {
    const state = await open();
    const answered = fetchOf(1, {
      ...{ endpoint: 'commission', window_from: '2026-03-01', window_to: '2026-03-02', sha256: 'ab', items: 3 },
      ...{ raw_path: 'raw/x/gathered/2026-03/f1.ndjson.gz#12', notes: { file_name: 'é"' }, bytes_decoded: 2 ** 40 },
    } as unknown as Partial<FetchRecord>);
    const failed = fetchOf(2, { status: null, outcome: 'failed', error_code: 'cut_body', error_message: 'it broke' });
    await insertFetches(state, [answered, failed], false);
    expect(await all(state)).toEqual([answered, failed]);
  });

  test('come oldest first by their ids, in whatever order they were written, by pipeline and since an instant', async () => {
    const state = await open();
    await insertFetches(state, numbered(...Array.from({ length: 2100 }, (_, i) => i ^ 63)), true);
    await insertFetches(state, [fetchOf(1000, { fetch_id: 'f-other', pipeline: 'orders' })], false);
    expect(ids(await all(state)).slice(0, 2048)).toEqual(ids(numbered(...Array(2048).keys())));
    expect(await all(state)).toHaveLength(2100);
    expect(await all(state, fetchOf(2050).fetch_id)).not.toContainEqual(fetchOf(2049));
    expect(await all(state, earliestId('f', Date.parse('2026-01-01')))).toEqual([]);
  });

  test('of runs, and behind those that were seen', async () => {
    const state = await open();
    const of = (run: string, ...numbers: number[]) => numbers.map((n) => fetchOf(n, { run_id: run }));
    await insertFetches(state, of('r2', 3, 4), true);
    const seen = await lastWritten(state.db);
    await insertFetches(state, of('r1', 1, 2), true);
    await insertFetches(state, of('r3', 5), true);
    expect(ids(await fetchesOfRuns(state.db, 'r1', 'r2'))).toEqual(ids(numbered(3, 4)));
    expect(ids(await fetchesOfRuns(state.db, null, 'r2'))).toEqual(ids(numbered(1, 2, 3, 4)));
    expect(ids(await fetchesOfRun(state.db, 'r1'))).toEqual(ids(numbered(1, 2)));
    const { fetches, last } = await fetchesWritten(state.db, seen);
    expect(ids(fetches)).toEqual(ids(numbered(1, 2, 5)));
    expect(await fetchesWritten(state.db, last)).toEqual({ fetches: [], last });
  });

  test('a batch is there as a whole or not at all', async () => {
    const state = await open();
    await insertFetches(state, numbered(5), true);
    await expect(insertFetches(state, numbered(...Array(600).keys()), true)).rejects.toThrow();
    expect(ids(await all(state))).toEqual(ids(numbered(5)));
  });

  test('one that is written again takes the place of the first', async () => {
    const state = await open();
    await insertFetches(state, numbered(1, 2), false);
    await putFetch(state, fetchOf(1, { items: 7 }));
    expect(await all(state)).toEqual([fetchOf(1, { items: 7 }), fetchOf(2)]);
  });

  test('those that are missing are added, as applied; those that are known stay', async () => {
    const state = await open();
    await insertFetches(state, [fetchOf(2, { items: 7 })], true);
    expect(await insertMissing(state, numbered(1, 2, 3))).toBe(2);
    expect(await all(state)).toEqual([fetchOf(1), fetchOf(2, { items: 7 }), fetchOf(3)]);
    expect(await knownFetches(state.db, ids(numbered(0, 3, 2)))).toEqual(new Set(ids(numbered(2, 3))));
  });

  test('an answer of a look-up is pending until it is applied, and no longer when it is pruned', async () => {
    const state = await open();
    const at = { raw_path: 'raw/x.ndjson.gz#0' };
    const failed = fetchOf(3, { outcome: 'failed' });
    const answers = [2, 1, 4].map((n) => fetchOf(n, at));
    answers.push(fetchOf(5, { raw_path: 'raw/y.ndjson.gz#0' }));
    await insertFetches(state, [...answers, failed], true);
    await insertFetches(state, [fetchOf(6, at)], false);
    expect(ids(await pendingFetches(state.db, PIPELINE))).toEqual(ids(numbered(2, 1, 4, 5)));
    await markApplied(state, ids(numbered(2, 4)));
    await markPruned(state, { pipeline: PIPELINE, object: 'raw/y.ndjson.gz' }, '2026-03-05T00:00:00.000Z');
    expect(ids(await pendingFetches(state.db, PIPELINE))).toEqual(ids(numbered(1)));
    const gone = { fetch_id: fetchOf(5).fetch_id, pruned_at: '2026-03-05T00:00:00.000Z' };
    expect(await prunedSince(state.db, '2026-03-05T00:00:00.000Z')).toEqual([gone]);
    expect(await prunedSince(state.db, '2026-03-05T00:00:00.001Z')).toEqual([]);
    expect((await all(state)).find(({ fetch_id: id }) => id === gone.fetch_id)).toMatchObject(gone);
  });

  test('come object by object, however many there are; those without a response do not', async () => {
    const state = await open();
    const at = (n: number) => (n % 7 === 0 ? {} : { raw_path: `raw/${n % 3}.ndjson.gz#${n}` });
    await insertFetches(
      state,
      [...Array(2500).keys()].reverse().map((n) => fetchOf(n, at(n))),
      true,
    );
    const found: [string, string[]][] = [];
    for await (const { object, fetches } of fetchesByObject(state.db, PIPELINE)) found.push([object, ids(fetches)]);
    const expected = [0, 1, 2].map((object) => {
      const inIt = [...Array(2500).keys()].filter((n) => n % 7 !== 0 && n % 3 === object);
      return [`raw/${object}.ndjson.gz`, ids(numbered(...inIt)).sort()];
    });
    expect(found).toEqual(expected);
  });

  test('say of another answer what they said, and other words', async () => {
    const state = await open();
    await insertFetches(state, numbered(...Array(700).keys()), true);
    const redacted = fetchOf(2, { sha256: 'cd', raw_path: 'raw/y#1', notes: { erased_at: 'now' } });
    await replaceFetches(state, [redacted]);
    expect((await all(state))[2]).toEqual(redacted);
    const texts = { table: 'fetch', key: ['fetch_id'], texts: ['url', 'error_message'] } as const;
    const change = (text: string) => text.replace('127.0.0.1', 'here');
    expect([await rewriteTexts(state, texts, change, true), (await all(state))[0]]).toEqual([700, fetchOf(0)]);
    expect(await rewriteTexts(state, texts, change, false)).toBe(700);
    expect(new Set((await all(state)).map(({ url }) => url))).toEqual(new Set(['http://here/retailer/commission']));
    expect(await pendingFetches(state.db, PIPELINE)).toHaveLength(1);
    await state.compact();
    expect(await all(state)).toHaveLength(700);
  });
}
