/**
 * `npm run bench [-- NAME…] [--strict]`: every figure beside the limit measured in the same run, as one table. The last
 * figures are kept in last.json, and compared with those of such a machine before; with --strict what became worse fails the run.
 */
import path from 'node:path';
import { analystsDuckdb, analystsPostgres } from './analysts.ts';
import { delta } from './delta.ts';
import { ducklake } from './ducklake.ts';
import { growth } from './growth.ts';
import { compare, told } from './guard.ts';
import { hosts } from './hosts.ts';
import { ingest } from './ingest.ts';
import { commitOf, type KeptResult, keep, machine, readKept, versions } from './kept.ts';
import { loading } from './loading.ts';
import { lookups } from './lookups.ts';
import { reductions } from './lookups-reductions.ts';
import { memory } from './memory.ts';
import { nights } from './nights.ts';
import { peers } from './peers/peers.ts';
import { packageRoot, type Result, workFolder } from './place.ts';
import { push } from './push.ts';
import { splitting } from './splitter.ts';
import { tableOf, verdictOf } from './table.ts';
import { unchanged } from './unchanged.ts';

/** In the order in which they run: the way of the data, then what is built on it, the longest at the end. */
const benchmarks: Readonly<Record<string, (dir: string) => Promise<Result[]>>> = {
  splitter: splitting,
  ingest,
  hosts,
  loading,
  growth,
  ducklake,
  delta,
  memory,
  unchanged,
  nights,
  lookups,
  reductions,
  push,
  'analysts-duckdb': analystsDuckdb,
  'analysts-postgres': analystsPostgres,
  peers,
};

const LAST = path.join(packageRoot, 'test', 'proof', 'bench', 'last.json');

const words = process.argv.slice(2);
const named = words.filter((word) => word !== '--strict');
const wrong = named.filter((name) => !Object.hasOwn(benchmarks, name));
if (wrong.length > 0) {
  const names = Object.keys(benchmarks).join(', ');
  process.stderr.write(`there is no benchmark "${wrong.join('", "')}": name some of ${names}, or none for all\n`);
  process.exit(2);
}

const measured = {
  at: new Date().toISOString(),
  commit: commitOf(packageRoot),
  machine: machine(),
  versions: versions(),
};
const before = readKept(LAST);
const results: (Result & KeptResult)[] = [];
const failed: string[] = [];
const { dir, remove } = workFolder();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    remove();
    process.exit(130);
  });
for (const [name, run] of Object.entries(benchmarks)) {
  if (named.length > 0 && !named.includes(name)) continue;
  process.stderr.write(`${name} …\n`);
  const started = performance.now();
  try {
    const found = await run(dir);
    results.push(...found.map((result) => ({ benchmark: name, ...measured, ...result })));
    for (const { name: what, figure, met } of found) process.stderr.write(`  ${what}: ${figure}  ${verdictOf(met)}\n`);
    keep(
      LAST,
      results.map(({ below: _, ...result }) => result),
    ); // after each, so that a failure later loses nothing
  } catch (error) {
    failed.push(name);
    process.stderr.write(`  ${name} failed: ${error instanceof Error ? error.stack : String(error)}\n`);
  }
  process.stderr.write(`  in ${Math.round((performance.now() - started) / 1000)} s\n`);
}
remove();

const { node, duckdb, postgres } = measured.versions;
const head = `${measured.machine}; Node ${node}, DuckDB ${duckdb}, Postgres ${postgres}; commit ${measured.commit}`;
const curves = results.flatMap(({ name, below }) => (below ? ['', name, ...below.map((line) => `  ${line}`)] : []));
const guard = compare(results, before);
process.stdout.write(`${[head, '', ...tableOf(results), ...curves, '', ...told(guard)].join('\n')}\n`);
if (failed.length > 0) process.stdout.write(`failed, and so without figures: ${failed.join(', ')}\n`);
if (failed.length > 0 || (words.includes('--strict') && guard.regressions.length > 0)) process.exitCode = 1;
