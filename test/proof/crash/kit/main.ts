/**
 * `npm run crash [-- --rounds N --seed S --only NAME]`: the built program, a real Postgres, DuckDB and files, disturbed in every way
 * that the kit knows. `--only` takes kinds with commas between, or how their names begin; a failure tells how to see it again.
 */
import { parseArgs } from 'node:util';
import { startPostgres } from '../../../support/postgres.ts';
import { KINDS } from './kinds.ts';
import { installProgram } from './program.ts';
import { report, roundsOf, type Tally } from './rounds.ts';
import { Scene } from './scene.ts';
import { Stage } from './stage.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});
const seed = wholeNumber('seed', values.seed);
const rounds = values.rounds === undefined ? {} : { rounds: wholeNumber('rounds', values.rounds) };
const wanted = values.only.split(',');
const isExact = wanted.every((one) => KINDS.some(({ name }) => name === one));
const kinds = KINDS.filter(({ name }) => wanted.some((one) => (isExact ? name === one : name.startsWith(one))));
if (kinds.length === 0) {
  process.stderr.write(`no kind is called ${values.only}\n  fix: choose from ${KINDS.map((k) => k.name).join(', ')}\n`);
  process.exit(2);
}

// The round in hand is ended, and everything of it removed; a second signal ends at once.
let isStopped = false;
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => {
    isStopped = true;
    tell('stopping after this round');
  });

const tell = (line: string) => void process.stderr.write(`${line}\n`);
const postgres = await startPostgres();
const tallies: Tally[] = [];
try {
  const scene = await Scene.open(postgres, installProgram);
  try {
    const stage = new Stage(scene);
    for (const kind of kinds)
      tallies.push(await roundsOf(stage, kind, { seed, ...rounds, tell, isStopped: () => isStopped }));
  } finally {
    await scene.close();
  }
} finally {
  await postgres.stop();
}
process.stdout.write(`\n${report(tallies)}\n`);
if (tallies.some(({ counts }) => counts.failed > 0)) process.exitCode = 1;

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} ${text} is no number\n  fix: a whole number, at most nine digits\n`);
  process.exit(2);
}
