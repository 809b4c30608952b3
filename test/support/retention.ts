/** Settings of retention that come while an installation is in use, and what can be said of the answers in a raw store. */
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { asEtlError } from '../../src/core/errors.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { runPrune } from '../../src/run/prune/prune.ts';
import type { World } from './nights.ts';

/** Writes the section into the settings file, in the place of the one before. */
export async function setRetention(world: World, retention: Readonly<Record<string, number>>): Promise<void> {
  const file = world.env.PARTNER_ETL_CONFIG!;
  const rest = (await readFile(file, 'utf8')).replace(/\nretention:.*\n/, '\n');
  await writeFile(file, rest);
  await appendFile(file, `\nretention: ${JSON.stringify(retention)}\n`);
}

/** Takes the step of that number (from 0) for a kill; the number of steps taken. */
export async function pruneUntil(world: World, last = Number.POSITIVE_INFINITY): Promise<number> {
  let steps = 0;
  await world.within((context) =>
    runPrune(context, () => {
      if (steps >= last) throw new Error('killed');
      steps += 1;
    }),
  );
  return steps;
}

/** Every stored answer: `there`, or the code of the error with which it is refused. */
export async function answersOf(world: World, pipeline: string): Promise<Map<string, string>> {
  return world.within(async ({ raw }) => {
    const found = new Map<string, string>();
    const fetches: FetchRecord[] = [];
    for await (const fetch of raw.fetches(pipeline)) if (fetch.raw_path !== null) fetches.push(fetch);
    for (const fetch of fetches) {
      let state = 'there';
      try {
        for await (const _ of raw.answer(fetch, true));
      } catch (thrown) {
        state = asEtlError(thrown).code;
      }
      found.set(fetch.fetch_id, state);
    }
    return found;
  });
}

/** Files under a folder of the home directory, relative to it, sorted. */
export async function filesUnder(world: World, folder: string): Promise<string[]> {
  const names = await readdir(path.join(world.home, folder), { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(world.home, path.join(entry.parentPath, entry.name)))
    .sort();
}
