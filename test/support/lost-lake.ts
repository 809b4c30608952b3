/** A lake that is lost: its files, and what is known of them. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipelines as all } from '../../pipelines/index.ts';
import { homePaths } from '../../src/core/home.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';

/** Of all pipelines, or of those that are named. */
export async function loseLake(home: string, ...pipelines: readonly string[]): Promise<void> {
  const paths = homePaths(home);
  const lost = all.filter(({ name }) => pipelines.length === 0 || pipelines.includes(name));
  for (const tree of [paths.lake, paths.rejects, paths.held])
    for (const { table } of lost) await rm(path.join(tree, table), { recursive: true, force: true });
  const state = await openSqliteState(paths.database);
  const names = lost.map(({ name }) => name);
  for (const table of ['slice', 'hold'] as const)
    await state.write((tx) => tx.deleteFrom(table).where('pipeline', 'in', names).execute());
  await state.close();
}
