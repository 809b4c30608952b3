/**
 * The settings that views need, in `etl.setting`. A publication writes them when they differ from what is there; so what
 * a view says by them changes for the whole history at once, without a row being loaded.
 */
import type { Kysely } from 'kysely';
import { assert } from '../core/errors.ts';
import { subIdParts } from '../core/sub-id-grammar.ts';
import type { BookkeepingTables } from './bookkeeping-tables.ts';

export interface WarehouseSettings {
  /** As in the settings file, checked; null: sub-IDs are not taken apart. */
  readonly subIdGrammar: string | null;
}

export const NO_SETTINGS: WarehouseSettings = { subIdGrammar: null };

type Settings = ReadonlyMap<string, string>;

/** Whether a warehouse that has its bookkeeping says other settings than these. Writes nothing. */
export async function settingsDiffer(db: Kysely<BookkeepingTables>, wanted: WarehouseSettings): Promise<boolean> {
  const there = await recorded(db);
  const due = wantedRows(wanted);
  return there.size !== due.size || [...due].some(([name, value]) => there.get(name) !== value);
}

/** Makes the warehouse say these settings; one that it says already keeps its time. For the holder of the publishing lock. */
export async function recordSettings(
  db: Kysely<BookkeepingTables>,
  wanted: WarehouseSettings,
  at: string,
): Promise<void> {
  const there = await recorded(db);
  const due = wantedRows(wanted);
  const gone = [...there].filter(([name, value]) => due.get(name) !== value).map(([name]) => name);
  const fresh = [...due].filter(([name, value]) => there.get(name) !== value);
  if (gone.length > 0) await db.deleteFrom('etl.setting').where('name', 'in', gone).execute();
  if (fresh.length > 0)
    await db
      .insertInto('etl.setting')
      .values(fresh.map(([name, value]) => ({ name, value, changed_at: at })))
      .execute();
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
async function recorded(db: Kysely<BookkeepingTables>): Promise<Settings> {
  const tables = await db
    .selectFrom('information_schema.tables')
    .select('table_name')
    .where('table_schema', '=', 'etl')
    .where('table_name', '=', 'setting')
    .execute();
  if (tables.length === 0) return new Map();
  const rows = await db.selectFrom('etl.setting').select(['name', 'value']).execute();
  return new Map(rows.map(({ name, value }) => [name, value]));
}
