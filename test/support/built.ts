/**
 * Builds the program for tests that need it as a process of its own: the modules one by one, for tests that put something between them,
 * and in the place of `src/main.js` the bundle that users have. It takes about three seconds, as types are left to
 * `npm run check`.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundleInto } from './bundle.ts';

declare module 'vitest' {
  interface ProvidedContext {
    build: string;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const root = path.resolve(import.meta.dirname, '..', '..');
  const build = path.join(root, 'dist-test');
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', path.join(root, 'tsconfig.kit.json'), '--outDir', build, '--noCheck'], { stdio: 'inherit' });
  await bundleInto(build, root);
  project.provide('build', build);
}
