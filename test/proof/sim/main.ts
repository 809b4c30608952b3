/**
 * `npm run sim`                     seeds one after the other, until it is interrupted
 * `npm run sim -- SEED [COUNT]`     this seed, or so many from it on
 * `npm run sim -- --count N`        so many seeds
 *   --seconds N                     begins no seed after so many seconds
 *   --postgres                      a share of the seeds loads into a Postgres of its own
 *   --hosts                         all of them do, and the state lies there too: every process is a host of its own
 *   --brief                         scenarios of one day, as in the suite: three times as many in the same time
 *   --workers N                     so many at once; 2 unless told
 * `npm run sim -- --mutants [NAME…]`   every mutant, or these, with their seeds; with --search seeds are looked for
 */
import { MUTANTS } from './mutant-list.ts';
import { runMutants } from './mutants.ts';
import { runSeeds } from './runner.ts';

const args = process.argv.slice(2);
const option = (name: string) => {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args.splice(at, 2)[1];
};
const flag = (name: string) => {
  const at = args.indexOf(name);
  return at >= 0 && args.splice(at, 1).length > 0;
};
const workers = Number(option('--workers') ?? 2);
const count = option('--count');
const seconds = option('--seconds');
const postgres = flag('--postgres');
const hosts = flag('--hosts');
const isBrief = flag('--brief');
const mutants = flag('--mutants');
const isSearching = flag('--search');
const names = mutants ? args : [];
const unknown = names.find((arg) => MUTANTS.every(({ name }) => name !== arg));
if (unknown !== undefined) {
  process.stderr.write(`there is no mutant "${unknown}": see test/proof/sim/mutant-list.ts\n`);
  process.exit(2);
}
const [first, times] = mutants ? [] : args.map(Number);
const isOne = first !== undefined && count === undefined;

const stop = new AbortController();
// What is under way is done to its end, so that nothing is left behind.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
if (seconds !== undefined) setTimeout(() => stop.abort(), Number(seconds) * 1000).unref();

const wasFine = mutants
  ? await runMutants({ workers, names, isSearching, signal: stop.signal })
  : await runSeeds({
      first: first ?? 1,
      count: Number(count ?? times ?? (isOne ? 1 : Number.POSITIVE_INFINITY)),
      workers: isOne && times === undefined ? 1 : workers,
      postgres,
      hosts,
      isBrief,
      isVerbose: isOne && times === undefined,
      signal: stop.signal,
    });
process.exit(wasFine ? 0 : 1);
