/** What a publication asks a target before it begins: in one reading, since each opens the warehouse. */
import { type Bookkeeping, currentReceipts, newestRunId, shownHolds } from './bookkeeping.ts';
import { lackingIn, type Schema } from './schema/schema.ts';
import { settingsDiffer, type WarehouseSettings } from './settings.ts';
import type { TargetState } from './target.ts';

/** Of a warehouse that does not exist yet. */
export const NO_STATE: TargetState = { receipts: new Map(), isOutdated: false, lastRunId: null, holds: [] };

/** Errors: `failed/migration_changed`, `failed/newer_schema`. */
export async function stateOf(db: Bookkeeping, schema: Schema, settings: WarehouseSettings): Promise<TargetState> {
  const isLacking = (await lackingIn(db, schema)).length > 0;
  return {
    receipts: await currentReceipts(db),
    isOutdated: isLacking || (await settingsDiffer(db, settings)),
    lastRunId: await newestRunId(db),
    holds: await shownHolds(db),
  };
}
