/** Builds the program for tests that need it as a process of its own; TypeScript 7 takes about two seconds for it. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    build: string;
  }
}

export default function setup(project: TestProject): void {
  const root = path.resolve(import.meta.dirname, '..', '..');
  const build = path.join(root, 'dist-test');
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', path.join(root, 'tsconfig.build.json'), '--outDir', build], { stdio: 'inherit' });
  project.provide('build', build);
}
