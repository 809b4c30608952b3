/** The lake's table of current files: what each slice holds, which files hold it, and what is held back of it. */

import { ACCOUNT } from '../../core/account.ts';
import type { Day } from '../../core/days.ts';
import type { SliceContent } from '../../core/records.ts';
import type { Checked, HeldSlice, SliceEntry, Slices } from '../../core/slices.ts';
import type { State, StateDb, StateTransaction } from '../state.ts';
import { inBatches } from './batches.ts';
import type { HoldTable, SliceTable } from './tables.ts';

/** A slice and the pipeline that it belongs to. */
export interface NamedEntry {
  readonly pipeline: string;
  readonly entry: SliceEntry;
}

/** Days of which an answer said what they hold. */
export interface CheckedSlices {
  readonly pipeline: string;
  readonly days: readonly Day[];
  readonly by: Checked;
}

/** What slices and holds have in common, besides their names. */
const CONTENT = [
  'digest',
  'rows',
  'rejects',
  'duplicates',
  'sums',
  'settled',
  'version',
  'fetch_id',
  'fetched_at',
  'key_min',
  'key_max',
  'file',
  'rejects_file',
] as const;

type ContentRow = Pick<SliceTable, (typeof CONTENT)[number]>;

/** Everything that the lake holds, by pipeline; one statement, so that it never shows the middle of a commit. */
export async function readSlices(db: StateDb): Promise<Map<string, Slices>> {
  const rows = await db
    .selectFrom('slice')
    .leftJoin('hold', (join) =>
      join
        .onRef('hold.account', '=', 'slice.account')
        .onRef('hold.pipeline', '=', 'slice.pipeline')
        .onRef('hold.day', '=', 'slice.day'),
    )
    .selectAll('slice')
    .select(['hold.reason', 'hold.detail', 'hold.rows_before', 'hold.held_at'])
    .select(CONTENT.map((column) => `hold.${column} as held_${column}` as const))
    .where('slice.account', '=', ACCOUNT)
    .orderBy('slice.pipeline')
    .orderBy('slice.day')
    .execute();
  const found = new Map<string, Map<Day, SliceEntry>>();
  for (const row of rows) {
    const day = row.day as Day;
    const { reason, detail, rows_before, held_at } = row;
    const isHeld = reason !== null && detail !== null && rows_before !== null && held_at !== null;
    const held = isHeld ? heldOf(day, heldColumns(row), { reason, detail, rows_before, held_at }) : null;
    const slices = found.get(row.pipeline) ?? new Map<Day, SliceEntry>();
    found.set(
      row.pipeline,
      slices.set(day, { ...filesOf(day, row), moved: row.moved === 1, held, checked: checkedOf(row) }),
    );
  }
  return found;
}

/** The columns of a hold without the prefix that they have in the joined row. */
function heldColumns(row: Readonly<Record<`held_${keyof ContentRow}`, unknown>>): ContentRow {
  return Object.fromEntries(CONTENT.map((column) => [column, row[`held_${column}`]])) as ContentRow;
}

type HoldWords = Pick<HoldTable, 'reason' | 'detail' | 'rows_before' | 'held_at'>;

function heldOf(day: Day, row: ContentRow, words: HoldWords): HeldSlice {
  return { ...filesOf(day, row), ...words };
}

function filesOf(day: Day, row: ContentRow): Pick<SliceEntry, 'content' | 'file' | 'rejects_file'> {
  const { digest, rows, rejects, duplicates, version, fetch_id, fetched_at, key_min, key_max, file, rejects_file } =
    row;
  const sums = JSON.parse(row.sums) as SliceContent['sums'];
  const settled = row.settled === 1;
  const content = {
    day,
    digest,
    rows,
    rejects,
    duplicates,
    sums,
    settled,
    version,
    fetch_id,
    fetched_at,
    key_min,
    key_max,
  };
  return { content, file, rejects_file };
}

function checkedOf({ checked_on, checked_sha256: sha256, checked_from, checked_to }: SliceTable): Checked | null {
  if (checked_on === null || sha256 === null || checked_from === null || checked_to === null) return null;
  return { on: checked_on as Day, sha256, from: checked_from as Day, to: checked_to as Day };
}

/** The slices are these from now on, with what is held of them; those of other days stay. */
export async function writeSlices(tx: StateTransaction, entries: readonly NamedEntry[]): Promise<void> {
  for (const some of inBatches(entries)) {
    const holds = some.flatMap(holdRows);
    for (const [pipeline, days] of daysByPipeline(some)) await deleteDays(tx, pipeline, days);
    await tx.insertInto('slice').values(some.map(sliceRow)).execute();
    if (holds.length > 0) await tx.insertInto('hold').values(holds).execute();
  }
  if (entries.length > 0) await countCommit(tx);
}

/** The lake knows nothing of these slices from now on, nor of what is held of them. */
export async function forgetSlices(tx: StateTransaction, pipeline: string, days: readonly Day[]): Promise<void> {
  for (const some of inBatches(days)) await deleteDays(tx, pipeline, some);
  if (days.length > 0) await countCommit(tx);
}

async function deleteDays(tx: StateTransaction, pipeline: string, days: readonly Day[]): Promise<void> {
  for (const table of ['slice', 'hold'] as const)
    await tx
      .deleteFrom(table)
      .where('account', '=', ACCOUNT)
      .where('pipeline', '=', pipeline)
      .where('day', 'in', days)
      .execute();
}

function daysByPipeline(entries: readonly NamedEntry[]): Map<string, Day[]> {
  const days = new Map<string, Day[]>();
  for (const { pipeline, entry } of entries) days.set(pipeline, [...(days.get(pipeline) ?? []), entry.content.day]);
  return days;
}

function sliceRow({ pipeline, entry }: NamedEntry): SliceTable {
  const { moved, checked } = entry;
  return { ...contentRow(pipeline, entry), moved: moved ? 1 : 0, ...checkedColumns(checked) };
}

function holdRows({ pipeline, entry: { held } }: NamedEntry): HoldTable[] {
  if (held === null) return [];
  const { reason, detail, rows_before, held_at } = held;
  return [{ ...contentRow(pipeline, held), reason, detail, rows_before, held_at }];
}

function contentRow(
  pipeline: string,
  { content, file, rejects_file }: Pick<SliceEntry, 'content' | 'file' | 'rejects_file'>,
): ContentRow & Pick<SliceTable, 'account' | 'pipeline' | 'day'> {
  const { sums, settled, ...plain } = content;
  const coded = { sums: JSON.stringify(sums), settled: settled ? 1 : 0 };
  return { account: ACCOUNT, pipeline, ...plain, ...coded, file, rejects_file };
}

function checkedColumns(checked: Checked | null) {
  const { on = null, sha256 = null, from = null, to = null } = checked ?? {};
  return { checked_on: on, checked_sha256: sha256, checked_from: from, checked_to: to };
}

async function countCommit(tx: StateTransaction): Promise<void> {
  await tx
    .insertInto('lake_commit')
    .values({ account: ACCOUNT, commits: 1 })
    .onConflict((conflict) =>
      conflict.column('account').doUpdateSet((eb) => ({ commits: eb('lake_commit.commits', '+', 1) })),
    )
    .execute();
}

/** How many commits changed what the lake holds: the same number as before means that it holds the same. */
export async function countCommits(db: StateDb): Promise<number> {
  const row = await db.selectFrom('lake_commit').select('commits').where('account', '=', ACCOUNT).executeTakeFirst();
  return row?.commits ?? 0;
}

/** An answer said what these days hold. */
export async function markChecked(tx: StateTransaction, { pipeline, days, by }: CheckedSlices): Promise<void> {
  if (days.length === 0) return;
  await tx
    .updateTable('slice')
    .set(checkedColumns(by))
    .where('account', '=', ACCOUNT)
    .where('pipeline', '=', pipeline)
    .where('day', 'in', days)
    .execute();
}

/** Answers that are stored under other names from now on, by sha256: they still say the same of their slices. */
export async function renameAnswers(state: State, names: ReadonlyMap<string, string>): Promise<void> {
  await state.write(async (tx) => {
    for (const [old, fresh] of names)
      await tx
        .updateTable('slice')
        .set({ checked_sha256: fresh })
        .where('account', '=', ACCOUNT)
        .where('checked_sha256', '=', old)
        .execute();
  });
}
