import { existsSync, statfsSync } from 'node:fs';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

// DuckDB's queries occupy threads of libuv's pool; with the four of the default, file system calls starve behind them.
// The workers are forked from this process and take the size from its environment.
process.env.UV_THREADPOOL_SIZE ??= '8';
// Files of tests need not outlive a power cut: in memory, where there is room for all of them.
if (process.env.TMPDIR === undefined && roomIn('/dev/shm') >= 4 * 2 ** 30) process.env.TMPDIR = '/dev/shm';

const postgres = 'test/support/postgres.ts';
const built = 'test/support/built.ts';
/** What the files need that are called `….postgres.test.ts` and so on; all others are `plain`. */
const KINDS: Readonly<Record<string, string[]>> = {
  postgres: [postgres],
  /** They run the program as a process of its own. */
  built: [built],
  whole: [built, postgres],
};

export default defineConfig({
  test: {
    pool: 'forks',
    // The files share nothing but modules: to load those afresh for each took a third of the suite's CPU.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    projects: [...projectsIn('', 'test', ['test/proof/**']), ...projectsIn('proof-', 'test/proof', [])],
  },
});

/** `npm test` runs the projects without a prefix, `npm run test:all` those of test/proof. */
function projectsIn(prefix: string, folder: string, exclude: readonly string[]): TestProjectConfiguration[] {
  const filesOf = (kind: string) => `${folder}/**/*.${kind}.test.ts`;
  const project = (name: string, include: string[], others: readonly string[], globalSetup: string[]) => ({
    extends: true as const,
    test: { name: `${prefix}${name}`, include, exclude: [...exclude, ...others], globalSetup },
  });
  const kinds = Object.keys(KINDS);
  return [
    project('plain', [`${folder}/**/*.test.ts`], kinds.map(filesOf), []),
    ...kinds.map((kind) => project(kind, [filesOf(kind)], [], KINDS[kind] ?? [])),
  ];
}

/** Free bytes of a file system; 0 where there is none. */
function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
