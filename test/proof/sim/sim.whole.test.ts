/** A share of the simulation: seeds for as long as the suite can wait, all mutants, and the same seed twice. `npm run sim` runs the rest. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, it } from 'vitest';
import { packageRoot } from '../../support/nights.ts';
import { MUTANTS } from './mutant-list.ts';
import { mutated } from './mutate.ts';
import { runSim, wrongIn } from './run-sim.ts';

/** Brief seeds are begun for so long; two cores that have nothing else to do take nearly one a second. */
const SEEDS_SECONDS = 150;
/** The same with the state in Postgres, where a seed takes three times as long. */
const HOSTS_SECONDS = 40;
/** Dies at a step, at a file operation and at a statement, so that what it does is exact. */
const REPLAYED_SEED = 2;
const LIMIT_MS = 3_600_000;

const sim = (...args: readonly string[]) => runSim(inject('build'), args);

it('seeds end in the warehouse that the model expects', { timeout: LIMIT_MS }, async () => {
  const { code, text } = await sim('1', '1000000', '--brief', '--seconds', String(SEEDS_SECONDS));
  expect(wrongIn(text)).toEqual([]);
  expect(code, text).toBe(0);
});

it('and so where every process is another host, with the state in Postgres', { timeout: LIMIT_MS }, async () => {
  const { code, text } = await sim('1', '1000000', '--brief', '--hosts', '--seconds', String(HOSTS_SECONDS));
  expect(wrongIn(text)).toEqual([]);
  expect(code, text).toBe(0);
});

it('a seed does the same when it is run again', { timeout: LIMIT_MS }, async () => {
  const journal = async () => {
    const { text } = await sim(String(REPLAYED_SEED));
    return text.split('\n').filter((line) => line.startsWith('  ') && !line.startsWith('  ~'));
  };
  const first = await journal();
  expect(first.length).toBeGreaterThan(5);
  expect(await journal()).toEqual(first);
});

it.each(MUTANTS)('mutant $name finds its place in $file, function $in', (mutant) => {
  const text = readFileSync(path.join(packageRoot, mutant.file), 'utf8');
  expect(mutated(mutant, text, mutant.file)).not.toBe(text);
});

it('every mutant is found by its seed, which finds nothing without it', { timeout: LIMIT_MS }, async () => {
  const { code, text } = await sim('--mutants');
  expect(text.split('\n').filter((line) => /^(?:MISSED|WRONG)/.test(line))).toEqual([]);
  expect(text.match(/^found /gm)).toHaveLength(MUTANTS.length);
  expect(code).toBe(0);
});
