import { existsSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

// DuckDB's queries occupy threads of libuv's pool; with the four of the default, file system calls starve behind them.
// The workers are forked from this process and take the size from its environment.
process.env.UV_THREADPOOL_SIZE ??= '8';
// Files of tests need not outlive a power cut: in memory, where there is room for all of them.
if (process.env.TMPDIR === undefined && roomIn('/dev/shm') >= 4 * 2 ** 30) process.env.TMPDIR = '/dev/shm';

const needsPostgres = ['test/**/*.postgres.test.ts'];
/** Tests that run the program as a process of its own. */
const needsBuild = ['test/**/*.built.test.ts'];
const needsBoth = ['test/**/*.whole.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    // The files share nothing but modules: to load those afresh for each took a third of the suite's CPU.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'plain',
          include: ['test/**/*.test.ts'],
          exclude: [...needsPostgres, ...needsBuild, ...needsBoth],
        },
      },
      {
        extends: true,
        test: { name: 'postgres', include: needsPostgres, globalSetup: 'test/support/postgres.ts' },
      },
      {
        extends: true,
        test: { name: 'built', include: needsBuild, globalSetup: 'test/support/built.ts' },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: needsBoth,
          globalSetup: ['test/support/built.ts', 'test/support/postgres.ts'],
        },
      },
    ],
  },
});

/** Free bytes of a file system; 0 where there is none. */
function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
