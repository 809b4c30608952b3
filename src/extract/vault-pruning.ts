/**
 * Answers that lie in a file of their own, deleted by retention. Each record that names the file is marked first, then the file
 * goes. A mark counts only while the file is gone: killed in between, the answer is there as before, and the same content
 * fetched again later is there for the old records too.
 */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { FetchRecord } from '../core/records.ts';
import { syncDir, writeJson } from '../disk/atomic.ts';

/** Where the record of a fetch lies. `vaultRoot` is the folder of the vault. */
export function sidecarFile(vaultRoot: string, pipeline: string, startedAt: string, fetchId: string): string {
  return path.join(vaultRoot, pipeline, 'fetches', startedAt.slice(0, 7), `${fetchId}.json`);
}

/** Deletes a stored answer. `sidecars` are the records of all fetches that name it. */
export async function pruneAnswer(
  file: string,
  sidecars: readonly string[],
  at: string,
  step: (name: 'marking' | 'deleting') => void | Promise<void>,
): Promise<void> {
  for (const sidecar of sidecars) {
    await step('marking');
    const fetch = JSON.parse(await readFile(sidecar, 'utf8')) as FetchRecord;
    await writeJson(sidecar, { ...fetch, pruned_at: at });
  }
  await step('deleting');
  await rm(file, { force: true });
  await syncDir(path.dirname(file));
}
