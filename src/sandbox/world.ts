/** Everything that the sandbox's answers are made from. The same seed and the same edits are the same world. */
import { type Day, dayNumber } from '../core/days.ts';
import { type Catalogue, catalogueOf } from './catalogue/catalogue.ts';
import { EanEdits } from './catalogue/ean-edits.ts';
import { Edits } from './orders/edits.ts';
import { makePlacements, type Placement } from './orders/placements.ts';

export interface World {
  readonly seed: number;
  /** Order items a day, about. */
  readonly ordersPerDay: number;
  /** Number of the first day that has orders. */
  readonly firstDay: number;
  readonly catalogue: Catalogue;
  readonly placements: readonly Placement[];
  readonly edits: Edits;
  readonly eans: EanEdits;
}

export function makeWorld(seed: number, ordersPerDay: number, firstDay: Day): World {
  return {
    seed: seed | 0,
    ordersPerDay,
    firstDay: dayNumber(firstDay),
    catalogue: catalogueOf(seed | 0),
    placements: makePlacements(seed | 0),
    edits: new Edits(),
    eans: new EanEdits(),
  };
}
