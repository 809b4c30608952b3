/** Budgets in the state: what one process wrote is what the next one changes, whichever engine holds it. */
import { describe, expect, test } from 'vitest';
import type { State } from '../../../src/store/state.ts';
import { type Budget, changeBudget } from '../../../src/store/tables/budget.ts';

const NOTHING: Budget = { heldUntilMs: 0, askers: [] };

async function budgetIn(state: State, endpoint: string): Promise<Budget> {
  const seen: Budget[] = [];
  await changeBudget(state, { endpoint, isSynced: false }, (found) => {
    seen.push(found);
    return found;
  });
  return seen[0]!;
}

export function budgetConformance(open: () => Promise<State>): void {
  describe('a budget', () => {
    test('is empty at first, and each endpoint has its own', async () => {
      const state = await open();
      const asker = {
        id: 'one',
        seenMs: 1_772_000_000_123,
        demand: 3,
        leavesMs: [1_772_000_001_000, 1_772_000_001_001],
      };
      await changeBudget(state, { endpoint: 'commission', isSynced: true }, (found) => {
        expect(found).toEqual(NOTHING);
        return { heldUntilMs: 1_772_000_009_999, askers: [asker] };
      });
      expect(await budgetIn(state, 'commission')).toEqual({ heldUntilMs: 1_772_000_009_999, askers: [asker] });
      expect(await budgetIn(state, 'product')).toEqual(NOTHING);
    });

    test('is never passed by three that take from it at once', async () => {
      const states = await Promise.all([open(), open(), open()]);
      const taken = [0, 0, 0];
      const take = (which: number) =>
        changeBudget(states[which]!, { endpoint: 'commission', isSynced: which === 0 }, ({ askers }) => {
          const isFree = askers.length < 28;
          if (isFree) taken[which]! += 1;
          const call = { id: `${which}-${taken[which]}`, seenMs: 0, demand: 0, leavesMs: [1] };
          return { heldUntilMs: 0, askers: isFree ? [...askers, call] : askers };
        });
      const many = async (which: number) => {
        for (let i = 0; i < 20; i++) await take(which);
      };
      await Promise.all([many(0), many(1), many(2)]);
      expect(taken[0]! + taken[1]! + taken[2]!).toBe(28);
      expect(new Set((await budgetIn(states[0]!, 'commission')).askers.map(({ id }) => id)).size).toBe(28);
    });
  });
}
