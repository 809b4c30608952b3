/** Which slices of a publication a target does not have yet. */
import { assert } from '../core/errors.ts';
import {
  isReceiptOf,
  type LoadSlice,
  type Publication,
  type Receipts,
  receiptsOf,
  type TargetState,
} from './target.ts';

/**
 * The slices whose content is not that of the current receipt, or all of them for a warehouse that is made afresh.
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
    ({ pipeline, content }) => !isReceiptOf(receiptsOf(loaded, pipeline.name).get(content.day), content),
  );
}

/**
 * The slices of a publication that change, and whether it has anything to do. A target is asked unless the publisher knows its state;
 * one that is made afresh is not asked.
 */
export async function changesFor(
  publication: Publication,
  state: () => Promise<TargetState>,
): Promise<{ readonly changed: LoadSlice[]; readonly isDue: boolean }> {
  let known: TargetState | undefined = publication.known;
  const ask = async () => (known ??= await state());
  const changed = await changedSlices(publication, async () => (await ask()).receipts);
  const isDue = changed.length > 0 || isAlways(publication) || (await ask()).isOutdated;
  return { changed, isDue };
}

/** Whether it is carried out also when no slice changes. */
export function isAlways({ afresh = false, showHolds = false }: Publication): boolean {
  return afresh || showHolds;
}
