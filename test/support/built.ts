/**
 * Builds the program for tests that need it as a process of its own: the modules one by one, for tests that put something between them,
 * and in the place of `src/main.js` the bundle that users have. It takes about three seconds, as types are left to
 * `npm run check`.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { bundleInto } from './bundle.ts';

/** Returns the folder. */
export async function build(): Promise<string> {
  const root = path.resolve(import.meta.dirname, '..', '..');
  const folder = path.join(root, 'dist-test');
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  await promisify(execFile)(tsc, ['-p', path.join(root, 'tsconfig.kit.json'), '--outDir', folder, '--noCheck']);
  await bundleInto(folder, root);
  return folder;
}
