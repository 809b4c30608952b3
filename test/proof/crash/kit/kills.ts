/** kill -9: at random moments of every command that moves data, and at every step of a slice for each kind of pipeline. */
import path from 'node:path';
import { pipelines } from '../../../../pipelines/index.ts';
import { isNamed } from '../../../../src/core/pipeline.ts';
import { STEPS } from '../../../../src/run/context.ts';
import { packageRoot } from './program.ts';
import { seeded } from './random.ts';
import { type Kind, NIGHT, OPERATIONS, type Operation, type Round, type Stage } from './stage.ts';

/** Before it the process loads its modules; and there is time after the usual end, since machines are not always as quick. */
const [EARLIEST, LATEST] = [0.15, 1.1];
/** Whoever looks at every hop does so in one of so many rounds. */
const PROVED_EVERY = 3;

const ROUNDS: Readonly<Record<string, number>> = { night: 120, backfill: 60, rebuild: 50, prune: 40, erase: 50 };

export const kills: readonly Kind[] = OPERATIONS.map((operation) => ({
  name: `kill-${operation.name}`,
  rounds: ROUNDS[operation.name] ?? 1,
  round: (stage, seed) => killedAtRandom(stage, operation, seed),
}));

async function killedAtRandom(stage: Stage, operation: Operation, seed: number): Promise<Round> {
  const { tookMs } = await stage.undisturbed(operation);
  await stage.begin(operation);
  const killAfterMs = Math.round(seeded(seed).between(EARLIEST, LATEST) * tookMs);
  const end = await stage.scene.run(stage.wordsOf(operation), { ...stage.optionsOf(operation), killAfterMs });
  const when = end.signal === null ? `was over before ${killAfterMs} ms` : `killed after ${killAfterMs} ms`;
  const wrong = await stage.healed(operation, seed % PROVED_EVERY === 0);
  return wrong === null ? { verdict: 'equal', note: when } : { verdict: 'failed', note: `${when}: ${wrong}` };
}

/** Steps of a slice, those with a pipeline for each of them. */
const OF_PIPELINES = ['answer-received', 'normalised', 'lake-committed'];
const PLACES = STEPS.flatMap((step) =>
  OF_PIPELINES.includes(step) ? pipelines.filter(isNamed).map(({ name }) => `${step} ${name}`) : [step],
);

/** Round after round goes through the places; a round of a seed takes the place of that number. */
export const killedAtSteps: Kind = {
  name: 'kill-step',
  rounds: PLACES.length,
  async round(stage, seed) {
    const place = PLACES[seed % PLACES.length]!;
    await stage.begin(NIGHT);
    const command = [process.execPath, path.join(await packageRoot(), 'test', 'proof', 'crash', 'child.mjs')];
    const words = [stage.scene.program.modules, place, '0', String(NIGHT.atMs)];
    const end = await stage.scene.run(words, { ...stage.optionsOf(NIGHT), command });
    const when = end.signal === null ? `never came to "${place}"` : `killed at "${place}"`;
    const wrong = await stage.healed(NIGHT, seed % PROVED_EVERY === 0);
    return wrong === null ? { verdict: 'equal', note: when } : { verdict: 'failed', note: `${when}: ${wrong}` };
  },
};
