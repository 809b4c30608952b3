/** What a publication asks a target before it begins: in one reading, since each opens the warehouse. */
import { type Bookkeeping, currentReceipts, newestRunId, shownHolds } from './bookkeeping.ts';
import { settingsDiffer, type WarehouseSettings } from './settings.ts';
import type { TargetState } from './target.ts';

/** Of a warehouse that does not exist yet. */
export const NO_STATE: TargetState = { receipts: new Map(), isOutdated: false, lastRunId: null, holds: [] };

/** `lacking`: what its catalogue lacks, by name; `altered`: what of it is not as it was made. */
export async function stateOf(
  db: Bookkeeping,
  lacking: readonly string[],
  altered: () => Promise<readonly string[]>,
  settings: WarehouseSettings,
): Promise<TargetState> {
  return {
    receipts: await currentReceipts(db),
    isOutdated: lacking.length > 0 || (await settingsDiffer(db, settings)) || (await altered()).length > 0,
    lastRunId: await newestRunId(db),
    holds: await shownHolds(db),
  };
}
