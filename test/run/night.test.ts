import { afterEach, expect, it } from 'vitest';
import { openWorld, type World } from '../support/nights.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

it('a night brings the three reports into DuckDB, equal to the sandbox to the cent', async () => {
  world = await openWorld();
  const { exitCode, run, errors } = await world.night();
  expect(errors).toEqual([]);
  expect(exitCode).toBe(0);
  expect(run.summary?.rows).toBeGreaterThan(300);
  expect(await world.differences(world.lookback())).toEqual([]);
});
