/**
 * Answers that lie in a file of their own, deleted by retention. Each record that names the file is marked first, then the file
 * goes. A mark counts only while the file is gone: killed in between, the answer is there as before, and the same content
 * fetched again later is there for the old records too.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { syncDir } from '../disk/atomic.ts';
import { changeSidecar } from './sidecar.ts';

/** Deletes a stored answer. `sidecars` are the records of all fetches that name it. Errors: `failed/damaged_record`. */
export async function pruneAnswer(
  file: string,
  sidecars: readonly string[],
  at: string,
  step: (name: 'marking' | 'deleting') => void | Promise<void>,
): Promise<void> {
  for (const sidecar of sidecars) {
    await step('marking');
    await changeSidecar(sidecar, (fetch) => ({ ...fetch, pruned_at: at }));
  }
  await step('deleting');
  await rm(file, { force: true });
  await syncDir(path.dirname(file));
}
