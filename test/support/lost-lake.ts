/** A lake that is lost: its files, and what is known of them. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { homePaths } from '../../src/core/home.ts';

/** Of all pipelines, or of those that are named. */
export async function loseLake(home: string, ...pipelines: readonly string[]): Promise<void> {
  const { lake, rejects, held, manifests } = homePaths(home);
  for (const tree of [lake, rejects, held, manifests])
    for (const name of pipelines.length === 0 ? [''] : pipelines)
      await rm(path.join(tree, name), { recursive: true, force: true });
}
