import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListedEan } from '../../src/extract/ean-list.ts';
import { type Ask, askBatch, batchesOf, RefusalWatch } from '../../src/sources/batches.ts';
import { refusalOf } from '../../src/sources/refusal.ts';

function question(ean: string, price: string | null = null): ListedEan {
  return { ean, condition: 'NEW', price };
}

/** Questions with thirteen digits; the check digit is nobody's matter here. */
function series(count: number): ListedEan[] {
  return Array.from({ length: count }, (_, i) => question(String(8_000_000_000_000 + i)));
}

describe('batches', () => {
  test('are full but the last, in the order of the questions', () => {
    const questions = series(250);
    const batches = [...batchesOf(questions, 100)];
    expect(batches.map((batch) => batch.length)).toEqual([100, 100, 50]);
    expect(batches.flat()).toEqual(questions);
  });

  test('an EAN that is asked at several prices goes into several batches', () => {
    const [a, b, c, d] = ['1', '2', '3', '4'] as const;
    const questions = [question(a, '1'), question(a, '2'), question(b), question(a, '3'), question(c), question(d)];
    const batches = [...batchesOf(questions, 3)].map((batch) => batch.map(({ ean, price }) => `${ean}@${price}`));
    expect(batches).toEqual([['1@1', '2@null', '3@null'], ['1@2', '4@null'], ['1@3']]);
  });

  test('are handed on while questions still come', () => {
    function* endless() {
      for (let i = 0; ; i++) yield question(String(i));
    }
    expect(batchesOf(endless(), 100).next().value).toHaveLength(100);
  });

  test('whatever the questions: none is lost, no EAN is twice in a batch, a batch that is not full has only EANs of the one before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 12 })), fc.integer({ min: 1, max: 5 }), (numbers, size) => {
        const questions = numbers.map((n, i) => question(String(n), String(i + 1)));
        const batches = [...batchesOf(questions, size)];
        expect(new Set(batches.flat())).toEqual(new Set(questions));
        const short = batches.findIndex((batch) => batch.length < size);
        for (const [i, batch] of batches.entries()) {
          const eans = new Set(batch.map(({ ean }) => ean));
          expect(eans.size).toBe(batch.length);
          if (short < 0 || i <= short) continue;
          const before = batches[i - 1]!.map(({ ean }) => ean);
          expect([...eans].filter((ean) => !before.includes(ean))).toEqual([]);
        }
      }),
    );
  });

  test('a hundred thousand prices of one EAN cost no more than as many EANs', () => {
    const questions = [...Array.from({ length: 100_000 }, (_, i) => question('1', String(i + 1))), ...series(100_000)];
    const batches = [...batchesOf(questions, 100)];
    expect(batches.flat()).toHaveLength(200_000);
  });
});

/** A service that refuses calls with one of these EANs, and how it says so. */
function service(bad: ReadonlySet<string>, names: 'none' | 'all' | 'first') {
  const calls: number[] = [];
  const answered: ListedEan[] = [];
  const ask: Ask<ListedEan> = async (questions) => {
    calls.push(questions.length);
    const eans = questions.map(({ ean }) => ean);
    const atFault = eans.filter((ean) => bad.has(ean));
    if (atFault.length === 0) {
      answered.push(...questions);
      return { kind: 'answered' };
    }
    const named = names === 'all' ? atFault : names === 'first' ? atFault.slice(0, 1) : [];
    const violations = named.map((ean) => ({ name: 'ean', reason: `Request contains invalid value(s): '${ean}'.` }));
    return { kind: 'refused', ...refusalOf(400, JSON.stringify({ title: 'Bad request', violations }), eans) };
  };
  return { ask, calls, answered };
}

describe('a refused batch', () => {
  const questions = series(100);
  const at = (...places: number[]) => new Set(places.map((place) => questions[place]!.ean));

  test.each([0, 1, 49, 50, 63, 98, 99])(
    'one bad EAN of a hundred, unnamed, at place %i: at most 15 calls',
    async (place) => {
      const { ask, calls, answered } = service(at(place), 'none');
      const refused = await askBatch(questions, ask, new RefusalWatch());
      expect(refused).toEqual([{ question: questions[place], status: 400, reason: 'Bad request' }]);
      expect(answered).toEqual(questions.filter((_, i) => i !== place));
      expect(calls.length).toBeLessThanOrEqual(15);
    },
  );

  test.each([
    ['one named', at(7), 'all', 2],
    ['three named together', at(7, 50, 99), 'all', 2],
    ['three named one by one', at(7, 50, 99), 'first', 4],
  ] as const)('%s: %i calls', async (_, bad, names, count) => {
    const { ask, calls, answered } = service(bad, names);
    const refused = await askBatch(questions, ask, new RefusalWatch());
    expect(new Set(refused.map(({ question: { ean } }) => ean))).toEqual(bad);
    for (const {
      question: { ean },
      reason,
    } of refused)
      expect(reason).toBe(`Request contains invalid value(s): '${ean}'.`);
    expect(answered).toEqual(questions.filter(({ ean }) => !bad.has(ean)));
    expect(calls).toHaveLength(count);
  });

  test('a good batch is one call, a single bad question is one call', async () => {
    const good = service(new Set(), 'none');
    expect(await askBatch(questions, good.ask, new RefusalWatch())).toEqual([]);
    expect(good.calls).toEqual([100]);
    const bad = service(at(0), 'none');
    expect(await askBatch(questions.slice(0, 1), bad.ask, new RefusalWatch())).toHaveLength(1);
    expect(bad.calls).toEqual([1]);
  });

  test('any set of bad EANs is found exactly, each question is settled once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(18), { maxLength: 12 }),
        fc.constantFrom('none', 'all', 'first'),
        async (places, names) => {
          const few = questions.slice(0, 19);
          const bad = at(...places);
          const { ask, answered } = service(bad, names as 'none');
          const refused = await askBatch(few, ask, new RefusalWatch());
          expect(refused.map(({ question: { ean } }) => ean).sort()).toEqual([...bad].sort());
          expect(answered.map(({ ean }) => ean).sort()).toEqual(
            few
              .map(({ ean }) => ean)
              .filter((ean) => !bad.has(ean))
              .sort(),
          );
        },
      ),
    );
  });

  test('when the first twenty are refused alone and nothing was answered, the run gives up', async () => {
    const { ask, calls } = service(new Set(questions.map(({ ean }) => ean)), 'none');
    const error = await askBatch(questions, ask, new RefusalWatch()).catch((thrown) => thrown);
    expect(error).toMatchObject({
      kind: 'failed',
      code: 'everything_refused',
      hint: expect.stringContaining('price field'),
    });
    expect(calls.length).toBeLessThan(60);
  });

  test('nothing of the kind after an answer, also in another batch of the run', async () => {
    const watch = new RefusalWatch();
    const good = service(new Set(), 'none');
    await askBatch(questions.slice(0, 10), good.ask, watch);
    const { ask } = service(new Set(questions.map(({ ean }) => ean)), 'none');
    expect(await askBatch(questions, ask, watch)).toHaveLength(100);
  });

  test('an error of the call itself ends the batch', async () => {
    const cause = new Error('no network');
    await expect(askBatch(questions, () => Promise.reject(cause), new RefusalWatch())).rejects.toBe(cause);
  });
});
