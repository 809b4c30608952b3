/**
 * `npm run fuzz [-- SUBJECT… --seconds N --seed S --path P]`: every subject, or those named, for so many seconds each (60). A failure
 * prints seed, path and the shrunk input, and is kept in the corpus. `paths` needs a Postgres of its own, which it starts.
 */
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../support/postgres.ts';
import { keepInCorpus } from './corpus.ts';
import { openPaths } from './paths.ts';
import { type Subject, toldFailure, tryInputs } from './subject.ts';
import { subjects } from './subjects.ts';

// DuckDB's queries occupy threads of libuv's pool; with the four of the default, file system calls starve behind them.
process.env.UV_THREADPOOL_SIZE ??= '8';

const PATHS = 'paths';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' }, seed: { type: 'string' }, path: { type: 'string' } },
});
const seconds = Number(values.seconds ?? 60);
const seed = Number(values.seed ?? randomInt(2 ** 31));
const known = [...subjects.map(({ name }) => name), PATHS];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0 || !(seconds > 0) || !Number.isInteger(seed)) {
  process.stderr.write(`fuzz [SUBJECT…] [--seconds N] [--seed S] [--path P]; subjects: ${known.join(', ')}\n`);
  process.exit(2);
}

async function fuzz(subject: Subject): Promise<boolean> {
  const started = performance.now();
  const trial = { seed, runs: 2 ** 31 - 1, timeMs: seconds * 1000, ...(values.path ? { path: values.path } : {}) };
  const { runs, failure } = await tryInputs(subject, trial).finally(() => subject.close?.());
  const took = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(
    `${subject.name}: ${runs} inputs in ${took} s, seed ${seed}: ${failure ? 'FAILED' : 'all hold'}\n`,
  );
  if (failure === null) return true;
  const file = path.relative(process.cwd(), await keepInCorpus(subject, failure.input));
  process.stdout.write(`${toldFailure(subject.name, failure)}\nkept as ${file}: give it a name that says what it is\n`);
  return false;
}

const wanted = (name: string) => positionals.length === 0 || positionals.includes(name);
let isSound = true;
for (const subject of subjects) if (wanted(subject.name)) isSound = (await fuzz(subject)) && isSound;
if (wanted(PATHS)) {
  const server = await startPostgres();
  try {
    isSound = (await fuzz(await openPaths(server.url))) && isSound;
  } finally {
    await server.stop();
  }
}
process.exitCode = isSound ? 0 : 1;
