/** Which rows of some slices differ from their files: found as a load finds them, in a transaction that keeps nothing. */
import {
  type DifferingRows,
  differingDays,
  differingRowsOf,
  IN_LAKE,
  IN_TARGET,
  makingDiffering,
} from '../differing-rows.ts';
import type { PipelineLoad } from '../slice-sql.ts';
import { factTable } from '../table-sql.ts';
import { AMONG_GONE, stageDiffering } from './changed-rows.ts';
import type { Loading } from './copy-slices.ts';

/** `dir`: where files may lie meanwhile. */
export async function differingRows(
  loading: Pick<Loading, 'client' | 'engine'>,
  dir: string,
  load: PipelineLoad,
): Promise<DifferingRows[]> {
  const { client } = loading;
  const { pipeline } = load;
  await client.query('SAVEPOINT comparing');
  const { fresh, gone } = await stageDiffering({ ...loading, at: 'epoch' }, dir, load);
  let found: DifferingRows[] = [];
  if (fresh + gone > 0) {
    // By value now: JSON and ratios may only be spelt otherwise.
    const there = `(SELECT * FROM ${factTable(pipeline)} WHERE ${AMONG_GONE}) AS there`;
    for (const statement of makingDiffering(pipeline, 'staged', there)) await client.query(statement);
    await client.query(`ANALYZE ${IN_LAKE}; ANALYZE ${IN_TARGET}`);
    found = differingRowsOf((await client.query(differingDays(pipeline))).rows);
  }
  await client.query('ROLLBACK TO SAVEPOINT comparing; RELEASE SAVEPOINT comparing');
  return found;
}
