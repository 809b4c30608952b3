/** What was asked when, whichever engine holds the state. */
import { expect, test } from 'vitest';
import type { State } from '../../../src/store/state.ts';
import {
  askedLines,
  askedOutcomes,
  forgetAsked,
  type Noted,
  newestAsked,
  noteAsked,
  renameAsked,
} from '../../../src/store/tables/asked.ts';

const P = 'products';
const at = (day: number) => `2026-03-${String(day).padStart(2, '0')}T04:00:00.000Z`;
const noted = (key: unknown, day: number, outcome = 'found', misses = 0): Noted => ({
  key: JSON.stringify(key),
  asked_at: at(day),
  outcome,
  misses,
  isMissAgain: misses > 0,
});

export function askedConformance(open: () => Promise<State>): void {
  const rowsOf = async ({ db }: State, pipeline = P) => {
    const rows: Record<string, unknown>[] = [];
    for await (const lines of askedLines(db, pipeline))
      for (const line of lines.trimEnd().split('\n')) rows.push(JSON.parse(line));
    return rows.sort((a, b) => (JSON.stringify(a.key) < JSON.stringify(b.key) ? -1 : 1));
  };

  test('keys of any text are read as they were noted, each pipeline its own', async () => {
    const state = await open();
    const hostile = ['a"b', "it's", 'a\nb', '\\', 'é', null];
    await noteAsked(state, P, [noted(hostile, 1), noted(['1'], 2)]);
    await noteAsked(state, 'push-links', [noted(['1'], 3)]);
    expect(await rowsOf(state)).toEqual([
      { key: ['1'], asked_at: at(2), outcome: 'found', misses: 0 },
      { key: hostile, asked_at: at(1), outcome: 'found', misses: 0 },
    ]);
    expect(await newestAsked(state.db, P)).toBe(at(2));
    expect(await rowsOf(state, 'orders')).toEqual([]);
    expect(await newestAsked(state.db, 'orders')).toBeNull();
  });

  test('the newest counts, misses add up until something is found, and to note it twice changes nothing', async () => {
    const state = await open();
    const now = async () => (await rowsOf(state))[0];
    for (const [what, expected] of [
      [noted(['1'], 2, 'not_found', 1), { asked_at: at(2), misses: 1 }],
      [noted(['1'], 3, 'not_found', 2), { asked_at: at(3), misses: 3 }],
      [noted(['1'], 3, 'not_found', 2), { asked_at: at(3), misses: 3 }],
      [noted(['1'], 1), { asked_at: at(3), outcome: 'not_found', misses: 3 }],
      [noted(['1'], 4), { asked_at: at(4), outcome: 'found', misses: 0 }],
      [
        { ...noted(['1'], 5, 'not_found', 1), isMissAgain: false },
        { asked_at: at(5), misses: 1 },
      ],
    ] as const) {
      await noteAsked(state, P, [what]);
      expect(await now()).toMatchObject(expected);
    }
  });

  test('more keys than a page are all read, counted by what came of them, and forgotten by their age', async () => {
    const state = await open();
    const many = Array.from({ length: 20_500 }, (_, i) =>
      noted([String(i)], i % 2 === 0 ? 1 : 9, i % 2 === 0 ? 'not_found' : 'found'),
    );
    await noteAsked(state, P, many);
    const rows = await rowsOf(state);
    expect(new Set(rows.map(({ key }) => String(key))).size).toBe(many.length);
    expect(await askedOutcomes(state.db, P)).toEqual([
      { outcome: 'found', keys: 10_250, asked_at: at(9) },
      { outcome: 'not_found', keys: 10_250, asked_at: at(1) },
    ]);
    await forgetAsked(state, P, at(1));
    expect(await askedOutcomes(state.db, P)).toEqual([{ outcome: 'found', keys: 10_250, asked_at: at(9) }]);
  });

  test('a key that is renamed keeps what came of it, also where it was asked for under the new name since', async () => {
    const state = await open();
    await noteAsked(state, P, [noted(['old'], 1), noted(['older'], 1), noted(['x'], 3), noted(['other'], 2)]);
    const change = (key: string) => key.replace(/olde?r?/, 'x');
    expect(await renameAsked(state, P, change, true)).toBe(2);
    expect(await rowsOf(state)).toHaveLength(4);
    expect(await renameAsked(state, P, change, false)).toBe(2);
    expect((await rowsOf(state)).map(({ key, asked_at }) => [key, asked_at])).toEqual([
      [['other'], at(2)],
      [['x'], at(3)],
    ]);
  });
}
