/** What a publication asks a target before it begins: in one reading, since each opens the warehouse. */
import { type Bookkeeping, currentReceipts, holdsTold, lackingMigrations, newestRunId } from './bookkeeping.ts';
import { settingsDiffer, type WarehouseSettings } from './settings.ts';
import type { TargetState } from './target.ts';
import type { TargetName } from './target-name.ts';

/** Of a warehouse that does not exist yet. */
export const NO_STATE: TargetState = { receipts: new Map(), isOutdated: false, lastRunId: null, holds: [] };

/** Errors: `failed/migration_changed`, `failed/newer_schema`. */
export async function stateOf(db: Bookkeeping, engine: TargetName, settings: WarehouseSettings): Promise<TargetState> {
  const isLacking = (await lackingMigrations(db, engine)).length > 0;
  return {
    receipts: await currentReceipts(db),
    isOutdated: isLacking || (await settingsDiffer(db, settings)),
    lastRunId: await newestRunId(db),
    holds: await holdsTold(db),
  };
}
