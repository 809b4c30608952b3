/** The token and its circuit in the state, whichever engine holds it. */
import { describe, expect, test } from 'vitest';
import type { State } from '../../../src/store/state.ts';
import { type Circuit, changeTokenRow, readTokenRow } from '../../../src/store/tables/token.ts';

const AT = Date.UTC(2026, 2, 14, 3, 0, 0, 123);
const empty: Circuit = {
  print: { salt: 'aa', sha256: 'bb' },
  token: null,
  refusal: null,
  requestsMs: [],
  pausedUntilMs: 0,
  asking: null,
};
const full: Circuit = {
  print: { salt: 'cc', sha256: 'dd' },
  token: { value: 'a-token', obtainedAtMs: AT, expiresAtMs: AT + 299_000 },
  refusal: { code: 'address_banned', status: 404, said: 'Not Found', count: 2, atMs: AT, notBeforeMs: AT + 3_600_000 },
  requestsMs: [AT - 5, AT],
  pausedUntilMs: AT + 60_000,
  asking: { by: 'one', atMs: AT, untilMs: AT + 41_000 },
};

export function tokenConformance(open: () => Promise<State>): void {
  describe('the token', () => {
    test('is found as it was written, by pair, and gone where it was taken out', async () => {
      const [one, other] = await Promise.all([open(), open()]);
      expect(await readTokenRow(one.db, 'pair')).toBeNull();
      await changeTokenRow(one, 'pair', () => [full, null]);
      expect(await readTokenRow(other.db, 'pair')).toEqual(full);
      expect(await readTokenRow(other.db, 'another')).toBeNull();
      await changeTokenRow(other, 'pair', () => [empty, null]);
      expect(await readTokenRow(one.db, 'pair')).toEqual(empty);
    });

    test('is asked for by one of many at once', async () => {
      const states = await Promise.all([open(), open(), open()]);
      const ask = (state: State, by: string) =>
        changeTokenRow(state, 'pair', (found) => {
          const circuit = found ?? empty;
          if (circuit.asking) return [circuit, false];
          return [{ ...circuit, asking: { by, atMs: AT, untilMs: AT + 41_000 } }, true];
        });
      const may = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(states[i % 3]!, String(i))));
      expect(may.filter((isFirst) => isFirst)).toHaveLength(1);
    });

    test('stays as it was where the change fails', async () => {
      const state = await open();
      await changeTokenRow(state, 'pair', () => [full, null]);
      const failing = changeTokenRow(state, 'pair', () => {
        throw new Error('stop');
      });
      await expect(failing).rejects.toThrow('stop');
      expect(await readTokenRow(state.db, 'pair')).toEqual(full);
    });
  });
}
