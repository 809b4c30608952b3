import { existsSync, statfsSync } from 'node:fs';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { HANG_MS } from './test/support/hang.ts';

// DuckDB's queries occupy threads of libuv's pool; with the four of the default, file system calls starve behind them.
// The workers are forked from this process and take the size from its environment.
process.env.UV_THREADPOOL_SIZE ??= '8';
// Files of tests need not outlive a power cut: in memory, where there is room for all of them.
if (process.env.TMPDIR === undefined && roomIn('/dev/shm') >= 4 * 2 ** 30) process.env.TMPDIR = '/dev/shm';

/** What runs long though its file is short, longest first: begun last, it would run alone at the end. */
const LONG = [/\/kill\.built\./, /\/duckdb\/conformance\./, /\/conformance\.postgres\./, /\/simulation\.built\./];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => LONG.findIndex((name) => name.test(moduleId)) >>> 0;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // The files share nothing but modules: to load those afresh for each took a third of the suite's CPU.
    isolate: false,
    // On two cores: a worker waits for DuckDB, Postgres or another process more than half of its time.
    maxWorkers: 3,
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    teardownTimeout: 10_000,
    expect: { poll: { timeout: HANG_MS } },
    sequence: { sequencer: LongFirst },
    projects: [project('plain', 'test', ['test/proof/**']), project('proof-plain', 'test/proof', [])],
  },
});

/**
 * `npm test` runs the project without a prefix, `npm run test:all` that of test/proof. One project for files with and without Postgres,
 * as each would transform and load all modules again.
 */
function project(name: string, folder: string, exclude: string[]): TestProjectConfiguration {
  const globalSetup = ['test/support/setup.ts'];
  return { extends: true, test: { name, include: [`${folder}/**/*.test.ts`], exclude, globalSetup } };
}

/** Free bytes of a file system; 0 where there is none. */
function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
