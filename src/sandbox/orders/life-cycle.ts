/**
 * The states of an order item, by its age in days on the Dutch calendar:
 *
 *   open ─(7 to 30 days)─▶ decided ─(1 to 20 days)─▶ final ─(5 to 29 days)─▶ approved for payment
 *
 * Decided is accepted or refused; only accepted items are approved for payment. After SETTLED_AFTER_DAYS nothing changes.
 */
import { below, mix } from '../hash.ts';

export const SETTLED_AFTER_DAYS = 79;

export interface ItemState {
  readonly status: string;
  readonly statusFinal: boolean;
  readonly approvedForPayment: boolean;
}

const OPEN = 'Open';
const ACCEPTED = 'Geaccepteerd';
const REFUSED = 'Geweigerd';
const REFUSED_OLD_CLICK = 'Geweigerd: klik te oud';

const state = (status: string, statusFinal: boolean, approvedForPayment: boolean): ItemState => ({
  status,
  statusFinal,
  approvedForPayment,
});

/** Every state; an item's state is an index into this. */
export const ITEM_STATES: readonly ItemState[] = [
  state(OPEN, false, false),
  state(ACCEPTED, false, false),
  state(ACCEPTED, true, false),
  state(ACCEPTED, true, true),
  state(REFUSED, false, false),
  state(REFUSED, true, false),
  state(REFUSED_OLD_CLICK, false, false),
  state(REFUSED_OLD_CLICK, true, false),
];

/** The state (index into ITEM_STATES) of the item with this hash at this age in days. */
export function stateAt(hash: number, ageDays: number): number {
  if (ageDays < 7) return 0;
  const h = mix(hash ^ 0x2545f491);
  const decided = 7 + below(h, 24);
  if (ageDays < decided) return 0;
  const final = decided + 1 + below(h >>> 8, 20);
  const outcome = below(h >>> 13, 100);
  if (outcome >= 86) return (outcome >= 97 ? 6 : 4) + (ageDays >= final ? 1 : 0);
  if (ageDays < final) return 1;
  return ageDays < final + 5 + below(h >>> 20, 25) ? 2 : 3;
}

export type Decision = 'open' | 'accepted' | 'refused';

/** How a status counts in the sums; one that the service never sends counts as open. */
export function decisionOf(status: string): Decision {
  if (status === ACCEPTED) return 'accepted';
  return status.toLowerCase().startsWith('geweigerd') ? 'refused' : 'open';
}

export const DECISIONS: readonly Decision[] = ITEM_STATES.map((s) => decisionOf(s.status));
