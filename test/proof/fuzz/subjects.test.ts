/** A short run of every subject, the same one every time, and every file of the corpus. */
import { afterAll, describe, expect, it } from 'vitest';
import { corpusOf } from './corpus.ts';
import { toldFailure, tryInputs } from './subject.ts';
import { subjects } from './subjects.ts';

const SEED = 20_260_320;

describe.each(subjects.map((subject) => ({ name: subject.name, subject })))('$name', ({ name, subject }) => {
  afterAll(() => subject.close?.());

  it('holds for every case of the corpus', async () => {
    const cases = await corpusOf(subject);
    expect(cases.length).toBeGreaterThan(0);
    for (const { name: about, input } of cases) {
      const outcome = await Promise.resolve(input)
        .then(subject.prove)
        .then(
          () => 'holds',
          (error: unknown) => String(error),
        );
      expect([about, outcome]).toEqual([about, 'holds']);
    }
  });

  it('holds for what chance brings', async () => {
    const { failure } = await tryInputs(subject, { seed: SEED, runs: subject.shortRuns, timeMs: null });
    expect(failure && toldFailure(name, failure)).toBeNull();
  });
});
