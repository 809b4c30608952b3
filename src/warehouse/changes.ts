/** Which slices of a publication a target does not have yet. */
import type { Day } from '../core/days.ts';
import { assert } from '../core/errors.ts';
import type { LoadSlice, Publication } from './target.ts';

/**
 * The slices whose digest is not that of the current receipt, or all of them for a warehouse that is made afresh.
 * `digests` asks the target, once for each pipeline.
 */
export async function changedSlices(
  { slices, afresh }: Pick<Publication, 'slices' | 'afresh'>,
  digests: (pipeline: string) => Promise<ReadonlyMap<Day, string>>,
): Promise<LoadSlice[]> {
  const names = new Set(slices.map(({ pipeline, content }) => `${pipeline.name} ${content.day}`));
  assert(names.size === slices.length, 'a slice is in a publication twice');
  if (afresh) return [...slices];
  const changed: LoadSlice[] = [];
  for (const name of new Set(slices.map((slice) => slice.pipeline.name))) {
    const current = await digests(name);
    for (const slice of slices)
      if (slice.pipeline.name === name && current.get(slice.content.day) !== slice.content.digest) changed.push(slice);
  }
  return changed;
}
