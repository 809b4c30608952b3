/** Which slices of a publication a target does not have yet. */
import { assert } from '../core/errors.ts';
import { type LoadSlice, type Publication, type Receipts, receiptsOf } from './target.ts';

/**
 * The slices whose digest is not that of the current receipt, or all of them for a warehouse that is made afresh.
 * `receipts` asks the target.
 */
export async function changedSlices(
  { slices, afresh }: Pick<Publication, 'slices' | 'afresh'>,
  receipts: () => Promise<Receipts>,
): Promise<LoadSlice[]> {
  const names = new Set(slices.map(({ pipeline, content }) => `${pipeline.name} ${content.day}`));
  assert(names.size === slices.length, 'a slice is in a publication twice');
  if (afresh || slices.length === 0) return [...slices];
  const loaded = await receipts();
  return slices.filter(
    ({ pipeline, content }) => receiptsOf(loaded, pipeline.name).get(content.day) !== content.digest,
  );
}

/** Whether it is carried out also when no slice changes. */
export function isAlways({ afresh = false, tellHolds = false }: Publication): boolean {
  return afresh || tellHolds;
}
