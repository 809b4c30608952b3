/**
 * The settings that views need, in `etl.setting`. A publication writes them when they differ from what is there; so what
 * a view says by them changes for the whole history at once, without a row being loaded.
 */
import { ACCOUNT } from '../core/account.ts';
import { assert } from '../core/errors.ts';
import { subIdParts } from '../core/sub-id-grammar.ts';
import { type Bookkeeping, hasTable } from './bookkeeping.ts';

export interface WarehouseSettings {
  /** As in the settings file, checked; null: sub-IDs are not taken apart. */
  readonly subIdGrammar: string | null;
}

export const NO_SETTINGS: WarehouseSettings = { subIdGrammar: null };

type Settings = ReadonlyMap<string, string>;

/** Whether a warehouse that has its bookkeeping says other settings than these. Writes nothing. */
export async function settingsDiffer(db: Bookkeeping, wanted: WarehouseSettings): Promise<boolean> {
  const { gone, fresh } = await changesDue(db, wanted);
  return gone.length + fresh.length > 0;
}

/** Makes the warehouse say these settings; one that it says already keeps its time. For the holder of the publishing lock. */
export async function recordSettings(db: Bookkeeping, wanted: WarehouseSettings, at: string): Promise<void> {
  const { gone, fresh } = await changesDue(db, wanted);
  if (gone.length > 0)
    await db.deleteFrom('etl.setting').where('account', '=', ACCOUNT).where('name', 'in', gone).execute();
  if (fresh.length > 0)
    await db
      .insertInto('etl.setting')
      .values(fresh.map(([name, value]) => ({ account: ACCOUNT, name, value, changed_at: at })))
      .execute();
}

/** Names of rows that are not wanted as they are, and the rows that are wanted and not there. */
async function changesDue(db: Bookkeeping, wanted: WarehouseSettings) {
  const there = await recorded(db);
  const due = wantedRows(wanted);
  return {
    gone: [...there].filter(([name, value]) => due.get(name) !== value).map(([name]) => name),
    fresh: [...due].filter(([name, value]) => there.get(name) !== value),
  };
}

function wantedRows({ subIdGrammar }: WarehouseSettings): Settings {
  if (subIdGrammar === null) return new Map();
  const parts = subIdParts(subIdGrammar);
  assert(parts !== null, `"${subIdGrammar}" is no grammar of sub-IDs; the settings are checked when they are read`);
  return new Map([
    ['sub_ids.grammar', subIdGrammar],
    ['sub_ids.parts', JSON.stringify(parts)],
  ]);
}

/** Nothing where the table is still to be made. */
async function recorded(db: Bookkeeping): Promise<Settings> {
  if (!(await hasTable(db, 'setting'))) return new Map();
  const rows = await db.selectFrom('etl.setting').select(['name', 'value']).where('account', '=', ACCOUNT).execute();
  return new Map(rows.map(({ name, value }) => [name, value]));
}
