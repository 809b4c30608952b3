/** Loads the program as the mutant that SIM_MUTANT names: one file is changed as it is read, nothing on the disk. */
import { register } from 'node:module';
import { MUTANTS } from './mutant-list.ts';

const mutant = MUTANTS.find(({ name }) => name === process.env.SIM_MUTANT);
if (!mutant) throw new Error(`there is no mutant "${process.env.SIM_MUTANT}": see test/sim/mutant-list.ts`);
register('./mutant-hook.js', import.meta.url, { data: mutant });
