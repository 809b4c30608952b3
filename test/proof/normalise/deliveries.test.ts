import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AT, type Given, useDeliveries } from '../../normalise/deliveries-scene.ts';

const scene = useDeliveries();
const { take, messages } = scene;

/** What the table must hold of deliveries, whatever way they came in. */
function expected(all: readonly Given[]): string[] {
  const byMessage = new Map<string, Given[]>();
  for (const one of all) byMessage.set(one.message, [...(byMessage.get(one.message) ?? []), one]);
  const order = (x: Given, y: Given) => x.at.localeCompare(y.at) || x.fetch.localeCompare(y.fetch) || x.place - y.place;
  return [...byMessage.values()]
    .map((ones) => {
      const [first, last] = [[...ones].sort(order)[0]!, ones.reduce((m, { at }) => (at > m ? at : m), '')];
      const minute = (at: string) => `${at.slice(8, 10)} ${at.slice(11, 16)}`;
      const bodies = new Set(ones.map(({ body }) => body)).size;
      return `${first.message} ${first.at.slice(0, 10)} ${minute(first.at)} ${minute(last)} ${ones.length} ${bodies} ${first.fetch}-${first.place}`;
    })
    .sort();
}

test('whatever the order of fetches, and however often one is taken in, the rows are the same', async () => {
  const given = fc.record({
    message: fc.constantFrom('a', 'b', 'c', 'd'),
    minute: fc.integer({ min: 0, max: 3000 }),
    body: fc.constantFrom('', '!'),
  });
  const history = fc.array(fc.array(given, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
  const rounds = fc.array(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(history, rounds, async (fetches, order) => {
      scene.lake.clear();
      const start = Date.parse(AT);
      const spelled = fetches.map((ones, s) =>
        ones.map(({ message, minute, body }, place): Given => {
          const at = new Date(start + minute * 60_000).toISOString();
          return { message, timestamp: AT, at, fetch: `s${s}`, place, body };
        }),
      );
      for (const round of order) await take(round.flatMap((s) => spelled[s] ?? []));
      await take(spelled.flat());
      expect(await messages()).toEqual(expected(spelled.flat()));
    }),
    { numRuns: 12, seed: 4 },
  );
});
