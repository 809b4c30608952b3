/** A few seeds of the simulation. test/proof/sim plays for minutes, and shows that it finds what it should. */
import { expect, inject, it } from 'vitest';
import { runSim, wrongIn } from '../proof/sim/run-sim.ts';

/** Seeds are begun for so long; what is begun is played to its end. */
const SECONDS = 10;

it('brief seeds end in the warehouse that the model expects', async () => {
  const { code, text } = await runSim(inject('build'), ['1', '1000000', '--brief', '--seconds', String(SECONDS)]);
  expect(wrongIn(text)).toEqual([]);
  expect(code, text).toBe(0);
});
