/** A fast share of the kit: one round of some kinds. `npm run crash` runs them all, many times. */
import path from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { KINDS } from './kit/kinds.ts';
import { roundsOf } from './kit/rounds.ts';
import { Scene } from './kit/scene.ts';
import { Stage } from './kit/stage.ts';

/** With the seed of the round. */
const SHARE: readonly (readonly [string, number])[] = [
  ['kill-night', 1],
  ['kill-serve', 1],
  ['postgres-terminate', 1],
  ['damage-lake-rows', 1],
];

let scene: Scene;
let stage: Stage;

beforeAll(async () => {
  const modules = inject('build');
  // Others use the server at the same time, so it is not restarted here.
  const restart = () => Promise.reject(new Error('the server is shared'));
  const postgres = { url: inject('pgUrl'), restart, stop: () => Promise.resolve() };
  const command = [process.execPath, path.join(modules, 'src', 'main.js')];
  scene = await Scene.open(postgres, () => ({ command, modules }));
  stage = new Stage(scene);
}, 900_000);
afterAll(() => scene?.close());

it.each(SHARE)(
  '%s, seed %i: the next run ends in the warehouse of an undisturbed one, or it is told what fixes it',
  async (name, seed) => {
    const kinds = KINDS.filter((kind) => kind.name === name);
    const tallies = await Promise.all(kinds.map((kind) => roundsOf(stage, kind, { seed, rounds: 1 })));
    expect(tallies.map(({ failures }) => failures)).toEqual([[]]);
  },
  900_000,
);
