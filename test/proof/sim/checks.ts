/** What must hold of a warehouse whatever happened: asked of it in plain SQL, which both engines understand. */
import { plain } from './model.ts';
import type { Reader, TextRow } from './warehouse-reader.ts';

export const REPORTS = [
  { report: 'promotions', table: 'warehouse.fact_promotion_day', day: 'promotion_date', key: [] },
  { report: 'orders', table: 'warehouse.fact_order_item', day: 'order_date', key: ['order_id', 'order_item_id'] },
  { report: 'commissions', table: 'warehouse.fact_commission_day', day: 'order_date', key: [] },
] as const;
export type Report = (typeof REPORTS)[number];

/** Columns that the service does not send: ours, or made from others. */
const OURS = new Set([
  'account',
  'fetch_id',
  'loaded_at',
  'order_local_time',
  'order_utc_time',
  'status_group',
  'valid_from',
]);

/** The name of a field as a column. */
function columnOf(field: string): string {
  return field === 'date' ? 'promotion_date' : field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A row that the service tells, as text that can be compared. Fields that no contract knows are in `extra`. */
export function toldRow(fields: Readonly<Record<string, unknown>>): string {
  const known: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields))
    if (field === 'colour') known.extra = JSON.stringify({ colour: value });
    else known[columnOf(field)] = value;
  return rowText(known);
}

/** A row of a warehouse, as the same text. */
function heldRow(row: TextRow, aside: ReadonlySet<string> = OURS): string {
  return rowText(Object.fromEntries(Object.entries(row).filter(([column]) => !aside.has(column))));
}

function rowText(row: Readonly<Record<string, unknown>>): string {
  const present = Object.entries(row).flatMap(([column, value]) => {
    const text = plain(value);
    return text === null ? [] : [[column, column === 'extra' ? JSON.stringify(JSON.parse(text)) : text] as const];
  });
  return JSON.stringify(Object.fromEntries(present.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Pipeline, table, column of the day. */
const SLICED: readonly (readonly [string, string, string])[] = [
  ['promotions', 'fact_promotion_day', 'promotion_date'],
  ['orders', 'fact_order_item', 'order_date'],
  ['commissions', 'fact_commission_day', 'order_date'],
  ['orders-history', 'fact_order_item_history', 'ended_on'],
  ['commission-rates', 'fact_commission_rate', 'observed_on'],
  ['commission-reductions', 'fact_commission_reduction', 'observed_on'],
  ['reductions', 'fact_reduction', 'observed_on'],
  ['commission-rates-history', 'fact_commission_rate_history', 'ended_on'],
  ['commission-reductions-history', 'fact_commission_reduction_history', 'ended_on'],
  ['reductions-history', 'fact_reduction_history', 'ended_on'],
  ['reductions-files', 'reductions_file', 'observed_on'],
  ['push-messages', 'fact_push_message', 'received_on'],
  ['push-deliveries', 'push_delivery', 'received_on'],
];

/** Every slice has as many rows, and sums, and rejects, as its receipt says; and no rows without a receipt. */
export async function receiptFlaws(reader: Reader): Promise<string[]> {
  const receipts = await reader.ask(
    `SELECT pipeline, CAST(slice_day AS VARCHAR) AS day, CAST(rows AS VARCHAR) AS rows, CAST(rejects AS VARCHAR) AS rejects, CAST(sums AS VARCHAR) AS sums
     FROM etl.receipt WHERE superseded_at IS NULL`,
  );
  const flaws: string[] = [];
  const names = receipts.map(({ pipeline, day }) => `${pipeline} ${day}`);
  if (new Set(names).size < names.length) flaws.push('a slice has two current receipts');
  for (const [pipeline, table, day] of SLICED) {
    const own = receipts.filter((receipt) => receipt.pipeline === pipeline);
    const columns = [...new Set(own.flatMap(({ sums }) => Object.keys(JSON.parse(sums ?? '{}'))))];
    const sums = columns.map((column) => `, CAST(sum("${column}") AS VARCHAR) AS "${column}"`).join('');
    const counted = await reader.ask(
      `SELECT CAST("${day}" AS VARCHAR) AS _day, CAST(count(*) AS VARCHAR) AS _rows${sums} FROM warehouse.${table} GROUP BY "${day}"`,
    );
    const found = new Map(counted.map((row) => [row._day, row]));
    for (const receipt of own) {
      const there = found.get(receipt.day ?? '');
      const rows = there?._rows ?? '0';
      if (rows !== receipt.rows)
        flaws.push(`${pipeline} ${receipt.day}: ${rows} rows, its receipt says ${receipt.rows}`);
      const told = JSON.parse(receipt.sums ?? '{}') as Record<string, string | null>;
      const other = columns.find((column) => there && plain(there[column]) !== plain(told[column]));
      if (other)
        flaws.push(`${pipeline} ${receipt.day}: sum of ${other} is ${there?.[other]}, its receipt says ${told[other]}`);
      found.delete(receipt.day ?? '');
    }
    for (const day of found.keys()) flaws.push(`${pipeline} ${day}: rows without a receipt`);
  }
  return [...flaws, ...(await rejectFlaws(reader, receipts))];
}

async function rejectFlaws(
  reader: Reader,
  receipts: readonly Readonly<Record<string, string | null>>[],
): Promise<string[]> {
  const counted = await reader.ask(
    `SELECT pipeline, CAST(slice_day AS VARCHAR) AS day, CAST(count(*) AS VARCHAR) AS n FROM etl.reject GROUP BY pipeline, slice_day`,
  );
  const found = new Map(counted.map(({ pipeline, day, n }) => [`${pipeline} ${day}`, n]));
  return receipts.flatMap(({ pipeline, day, rejects }) => {
    const n = found.get(`${pipeline} ${day}`) ?? '0';
    return n === rejects ? [] : [`${pipeline} ${day}: ${n} rejects, its receipt says ${rejects}`];
  });
}

/**
 * Rows in an answer = rows + rejects + exact duplicates of its slices. Slices of an answer may have had newer receipts before this one
 * was published, and an item that moved is taken out afterwards: so only answers all of whose days were published are looked at.
 */
export async function countFlaws(reader: Reader, hasMoves: boolean): Promise<string[]> {
  const rows = await reader.ask(
    `SELECT f.pipeline, f.fetch_id, CAST(max(f.items) AS VARCHAR) AS items,
       CAST(max(f.window_to) AS VARCHAR) AS last, CAST(max(f.window_from) AS VARCHAR) AS first,
       CAST(count(DISTINCT r.slice_day) AS VARCHAR) AS days, CAST(sum(r.rows + r.rejects + r.duplicates) AS VARCHAR) AS told
     FROM etl.fetch AS f JOIN etl.receipt AS r ON r.fetch_id = f.fetch_id AND r.pipeline = f.pipeline
     WHERE f.window_from IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM etl.receipt AS twice WHERE twice.fetch_id = r.fetch_id AND twice.slice_day = r.slice_day AND twice.loaded_at < r.loaded_at)
     GROUP BY f.pipeline, f.fetch_id`,
  );
  return rows.flatMap(({ pipeline, fetch_id, items, first, last, days, told }) => {
    const length = (Date.parse(last ?? '') - Date.parse(first ?? '')) / 86_400_000 + 1;
    const [sum, count] = [Number(told), Number(items)];
    const isWrong = sum > count || (sum < count && Number(days) === length && !(hasMoves && pipeline === 'orders'));
    return isWrong ? [`${pipeline} ${fetch_id}: ${items} items in the answer, ${told} accounted for`] : [];
  });
}

/** After 429 with Retry-After nothing is asked of the report before that has passed. */
export async function hasteFlaws(reader: Reader, leastMs: number): Promise<string[]> {
  const fetches = await reader.ask(
    `SELECT pipeline, CAST(status AS VARCHAR) AS status, CAST(EXTRACT(EPOCH FROM started_at) * 1000 AS VARCHAR) AS began,
       CAST(EXTRACT(EPOCH FROM finished_at) * 1000 AS VARCHAR) AS ended
     FROM etl.fetch WHERE window_from IS NOT NULL ORDER BY started_at`,
  );
  return fetches
    .filter(({ status }) => status === '429')
    .flatMap(({ pipeline, ended }) => {
      const hasty = fetches.find(
        (f) => f.pipeline === pipeline && Number(f.began) > Number(ended) && Number(f.began) < Number(ended) + leastMs,
      );
      return hasty ? [`${pipeline}: asked again ${Number(hasty.began) - Number(ended)} ms after a 429`] : [];
    });
}

/** Rows by the day in a column, as sorted text. */
export function byDay(rows: readonly TextRow[], column: string, aside?: ReadonlySet<string>): Map<string, string[]> {
  const days = new Map<string, string[]>();
  for (const row of rows) days.set(row[column] ?? '', [...(days.get(row[column] ?? '') ?? []), heldRow(row, aside)]);
  for (const texts of days.values()) texts.sort();
  return days;
}

/** The smallest difference to one of the states, in a few words; null where there is none. */
export function difference(there: readonly string[], states: readonly (readonly string[] | null)[]): string | null {
  const told = states.map((state) => {
    const rows = state ?? [];
    const [missing, extra] = [rows.filter((row) => !there.includes(row)), there.filter((row) => !rows.includes(row))];
    const isSame = JSON.stringify(rows) === JSON.stringify(there);
    return { missing, extra, size: isSame ? 0 : missing.length + extra.length + 1, rows: rows.length };
  });
  const nearest = told.sort((a, b) => a.size - b.size)[0];
  if (nearest === undefined || nearest.size === 0) return null;
  const { missing, extra, rows } = nearest;
  const some = (list: readonly string[]) => (list[0] === undefined ? '' : `, such as ${list[0]}`);
  return `${there.length} rows; of the ${rows} that it should have ${missing.length} are missing${some(missing)}; ${extra.length} are too many${some(extra)} (states that are possible: ${states.length})`;
}
