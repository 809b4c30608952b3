/**
 * The settings that views need, and which installation fills the warehouse, in `etl.setting`. A publication writes them when they differ
 * from what is there; so what a view says by them changes for the whole history at once, without a row being loaded.
 */
import { ACCOUNT } from '../core/account.ts';
import { assert, EtlError } from '../core/errors.ts';
import { subIdParts } from '../core/sub-id-grammar.ts';
import { currentGeneration, demandNewest } from '../store/locks.ts';
import type { Bookkeeping } from './bookkeeping.ts';
import type { TargetName } from './target-name.ts';

export interface WarehouseSettings {
  /** As in the settings file, checked; null: sub-IDs are not taken apart. */
  readonly subIdGrammar: string | null;
  /** Id of the installation that publishes; absent: any may. */
  readonly installation?: () => Promise<string>;
}

export const NO_SETTINGS: WarehouseSettings = { subIdGrammar: null };

type Settings = ReadonlyMap<string, string>;

/** Name of the row that says who fills the warehouse. */
export const INSTALLATION = 'installation';

/** Whether a warehouse that has its bookkeeping says other settings than these. Writes nothing. */
export async function settingsDiffer(db: Bookkeeping, wanted: WarehouseSettings): Promise<boolean> {
  const { gone, fresh } = await changesDue(db, wanted);
  return gone.length + fresh.length > 0;
}

/** Name of the row with the newest generation of runs that published (see store/locks.ts); there is none where runs have none. */
export const GENERATION = 'generation';

/** For the holder of the publishing lock, before anything is loaded. Errors: `failed/other_installation`, `locked/overtaken`. */
export async function demandOwn(
  db: Bookkeeping,
  { installation }: WarehouseSettings,
  target: TargetName,
): Promise<void> {
  const found = await recorded(db);
  demandNewest(found.has(GENERATION) ? Number(found.get(GENERATION)) : null);
  const there = found.get(INSTALLATION);
  if (installation === undefined || there === undefined || there === (await installation())) return;
  throw new EtlError(
    'failed',
    'other_installation',
    'this warehouse is filled by another installation of partner-etl',
    {
      hint: `give each a database, or a targets.ducklake.schema, of its own; where this one is to take it over, and what the other has loaded is to go: partner-etl rebuild --target ${target}`,
    },
  );
}

/** Makes the warehouse say these settings; one that it says already keeps its time. For the holder of the publishing lock. */
export async function recordSettings(db: Bookkeeping, wanted: WarehouseSettings, at: string): Promise<void> {
  const generation = currentGeneration();
  const newest: Settings = new Map(generation === null ? [] : [[GENERATION, String(generation)]]);
  const due = await changesDue(db, wanted);
  const gone = [...due.gone, ...newest.keys()];
  const fresh = [...due.fresh, ...newest];
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
  const due = new Map(wantedRows(wanted));
  const installation = await wanted.installation?.();
  if (installation !== undefined) due.set(INSTALLATION, installation);
  return {
    // One that does not say who publishes leaves that as it is.
    gone: [...there]
      .filter(([name]) => name !== GENERATION && (name !== INSTALLATION || installation !== undefined))
      .filter(([name, value]) => due.get(name) !== value)
      .map(([name]) => name),
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

async function recorded(db: Bookkeeping): Promise<Settings> {
  const rows = await db.selectFrom('etl.setting').select(['name', 'value']).where('account', '=', ACCOUNT).execute();
  return new Map(rows.map(({ name, value }) => [name, value]));
}
