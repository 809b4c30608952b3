/** Where files of the lake lie. */
import path from 'node:path';
import { pipelines } from '../../pipelines/index.ts';
import { monthOf, parseDay } from '../../src/core/days.ts';
import type { Tree } from '../../src/lake/files.ts';

/** The folder of all that a tree holds of a pipeline's table. */
export function tableFolder(home: string, pipeline: string, tree: Tree = 'lake'): string {
  const found = pipelines.find(({ name }) => name === pipeline)!;
  return path.join(home, tree, found.table);
}

/** The folder of the month that a day lies in. */
export function monthFolder(home: string, pipeline: string, day: string): string {
  return path.join(tableFolder(home, pipeline), 'account=default', `month=${monthOf(parseDay(day))}`);
}
