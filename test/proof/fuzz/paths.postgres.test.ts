/** The whole way of hostile answers, into both warehouses. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import { corpusOf } from './corpus.ts';
import { openPaths } from './paths.ts';
import { type Subject, toldFailure, tryInputs } from './subject.ts';

/** Each input is a night of its own. */
const LONG_MS = 300_000;

let database: Database;
let paths: Subject;
beforeAll(async () => {
  database = await freshDatabase();
  paths = await openPaths(database.url);
});
afterAll(async () => {
  await paths.close?.();
  await database.drop();
});

it(
  'nothing is lost and no value changed, for every case of the corpus',
  async () => {
    const cases = await corpusOf(paths);
    expect(cases.length).toBeGreaterThan(1);
    for (const { name, input } of cases) {
      const outcome = await Promise.resolve(input)
        .then(paths.prove)
        .then(
          () => 'holds',
          (error: unknown) => String(error),
        );
      expect([name, outcome]).toEqual([name, 'holds']);
    }
  },
  LONG_MS,
);

it(
  'nothing is lost and no value changed, for what chance brings',
  async () => {
    const { failure } = await tryInputs(paths, { seed: 20_260_320, runs: paths.shortRuns, timeMs: null });
    expect(failure && toldFailure(paths.name, failure)).toBeNull();
  },
  LONG_MS,
);
