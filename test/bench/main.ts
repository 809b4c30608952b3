/** `npm run bench [NAME…]`: every figure beside the limit measured in the same run. Results are kept under test/bench/results/. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { analystsDuckdb, analystsPostgres } from './analysts.ts';
import { ingest } from './ingest.ts';
import { loading } from './loading.ts';
import { lookups } from './lookups.ts';
import { reductions } from './lookups-reductions.ts';
import { nights } from './nights.ts';
import { machine, type Result, workFolder } from './place.ts';
import { push } from './push.ts';

const benchmarks: Readonly<Record<string, (dir: string) => Promise<Result[]>>> = {
  ingest,
  loading,
  nights,
  lookups,
  reductions,
  push,
  'analysts-duckdb': analystsDuckdb,
  'analysts-postgres': analystsPostgres,
};

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const { dir, remove } = workFolder();
const results: Result[] = [];
try {
  for (const [name, run] of Object.entries(benchmarks)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const found = await run(dir);
    results.push(...found);
    for (const r of found)
      process.stdout.write(`${r.name}\n  ${r.figure}\n  limit: ${r.limit}\n  target: ${r.target}${verdict(r)}\n`);
  }
} finally {
  remove();
}
const root = path.resolve(import.meta.dirname, '..', '..', '..');
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
const folder = path.join(root, 'test', 'bench', 'results');
mkdirSync(folder, { recursive: true });
const kept = { at: new Date().toISOString(), commit, machine: machine(), results };
writeFileSync(path.join(folder, `${kept.at.slice(0, 10)}-${commit}.json`), `${JSON.stringify(kept, null, 2)}\n`);

function verdict({ met }: Result): string {
  return met === null ? '' : met ? ': met' : ': MISSED';
}
