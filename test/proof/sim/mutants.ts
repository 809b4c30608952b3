/** Shows of every mutant that its seed finds it, and that the seed finds nothing in the program as it is. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { packageRoot } from './crew.ts';
import { likelySeeds } from './likely-seeds.ts';
import { MUTANTS, type Mutant } from './mutant-list.ts';
import { mutated } from './mutate.ts';
import type { PlaceOptions } from './place.ts';
import { Processes } from './processes.ts';
import { runSeed } from './runner.ts';
import { makeTemplate } from './template.ts';

export interface MutantsAsked {
  readonly workers: number;
  /** All, or those of these names. */
  readonly names: readonly string[];
  /** Look for a seed where the one in the list finds nothing. */
  readonly isSearching: boolean;
  /** No further one is begun. */
  readonly signal: AbortSignal;
}

const MOST_SEEDS = 12;
/** Some mistakes show only where two things happen in one order and not in the other, which no seed decides. */
const TRIES = 10;

/** Whether every mutant was found by its seed, and the program as it is passed all of those seeds. */
export async function runMutants({ workers, names, isSearching, signal }: MutantsAsked): Promise<boolean> {
  const mutants = MUTANTS.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const mutant of mutants) mutated(mutant, readFileSync(path.join(packageRoot, mutant.file), 'utf8'), mutant.file);
  const server = mutants.some(({ isPostgres }) => isPostgres) ? await startPostgres() : null;
  const template = await makeTemplate();
  let isFine = true;
  const jobs = mutants.map((mutant) => async () => {
    const line = await tryMutant(mutant, { server, template: template.file, isSearching });
    isFine &&= line.isFound;
    process.stdout.write(`${line.isFound ? 'found ' : 'MISSED'} ${mutant.name} by seed ${line.seed}: ${line.told}\n`);
  });
  const seeds = [...new Map(mutants.map((m) => [`${m.seed} ${m.isPostgres}`, m])).values()].filter(
    ({ seed }) => seed > 0,
  );
  if (!isSearching)
    for (const mutant of seeds)
      jobs.push(async () => {
        if (!(await passes(mutant, server, template.file))) isFine = false;
      });
  const work = async () => {
    for (let job = jobs.shift(); job && !signal.aborted; job = jobs.shift()) await job();
  };
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    await server?.stop();
    await template.remove();
  }
  return isFine;
}

interface Surroundings {
  readonly server: Postgres | null;
  readonly template: string;
  readonly isSearching: boolean;
}

async function tryMutant(mutant: Mutant, { server, template, isSearching }: Surroundings) {
  const processes = new Processes(mutant);
  try {
    const seeds = isSearching
      ? likelySeeds(mutant.name, mutant.seed, MOST_SEEDS)
      : Array.from({ length: TRIES }, () => mutant.seed);
    for (const seed of seeds) {
      const { flaws } = await runSeed(seed, processes, placeOf(mutant.isPostgres, server, template));
      if (flaws[0] !== undefined) return { isFound: true, seed, told: flaws[0].split('\n')[0]?.slice(0, 150) };
    }
    return {
      isFound: false,
      seed: mutant.seed,
      told: `nothing was found in ${seeds.length} tries; look for another seed with --mutants --search`,
    };
  } finally {
    await processes.close();
  }
}

/** Without the mutant the seed finds nothing. */
async function passes({ seed, isPostgres }: Mutant, server: Postgres | null, template: string): Promise<boolean> {
  const processes = new Processes(null);
  try {
    const { flaws } = await runSeed(seed, processes, placeOf(isPostgres, server, template));
    if (flaws.length > 0) process.stdout.write(`WRONG  seed ${seed} without a mutant: ${flaws[0]}\n`);
    return flaws.length === 0;
  } finally {
    await processes.close();
  }
}

function placeOf(isPostgres: boolean | undefined, server: Postgres | null, template: string | null): PlaceOptions {
  return { serverUrl: isPostgres ? (server?.url ?? null) : null, isOfHosts: false, template };
}
