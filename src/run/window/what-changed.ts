/**
 * What a run changed, in numbers that somebody cares about who earns the money: counted from the slices that are about to be
 * replaced and those that take their place, so it costs a look at these files and no query of a warehouse.
 *
 * An item that leaves a day in one answer and comes to another day in a later one counts as vanished and as new. Approvals and
 * payments count on days that were known before: on a day that is loaded for the first time nothing is news.
 */
import type { Day } from '../../core/days.ts';
import { assert } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { storedColumns } from '../../core/pipeline.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import type { SliceChange } from '../../lake/lake.ts';
import type { RunContext } from '../context.ts';

/** Money is counted in millionths, the finest that a column holds. */
export interface ItemChanges {
  readonly newItems: number;
  /** Orders of which nothing was there before. */
  readonly newOrders: number;
  readonly vanishedItems: number;
  readonly approvedItems: number;
  readonly approvedMicros: bigint;
  readonly paidItems: number;
  readonly paidMicros: bigint;
}

export interface SliceChanges {
  readonly pipeline: string;
  /** Days that were known and say something else now. */
  readonly restatedDays: number;
  /** null where the pipeline has no items with a commission. */
  readonly items: ItemChanges | null;
}

/** Of a whole run. Amounts as decimal text. */
export interface RunChanges {
  readonly new_orders: number;
  readonly new_items: number;
  readonly vanished_items: number;
  readonly approved_items: number;
  readonly approved_commission: string;
  readonly paid_items: number;
  readonly paid_commission: string;
  /** By pipeline; only those that have some. */
  readonly restated_days: Readonly<Record<string, number>>;
}

export class ChangeTally {
  private items = NONE;
  private readonly restated = new Map<string, number>();

  add({ pipeline, restatedDays, items }: SliceChanges): void {
    if (restatedDays > 0) this.restated.set(pipeline, (this.restated.get(pipeline) ?? 0) + restatedDays);
    if (items === null) return;
    const { items: sum } = this;
    this.items = {
      newItems: sum.newItems + items.newItems,
      newOrders: sum.newOrders + items.newOrders,
      vanishedItems: sum.vanishedItems + items.vanishedItems,
      approvedItems: sum.approvedItems + items.approvedItems,
      approvedMicros: sum.approvedMicros + items.approvedMicros,
      paidItems: sum.paidItems + items.paidItems,
      paidMicros: sum.paidMicros + items.paidMicros,
    };
  }

  summary(): RunChanges {
    const { items } = this;
    return {
      new_orders: items.newOrders,
      new_items: items.newItems,
      vanished_items: items.vanishedItems,
      approved_items: items.approvedItems,
      approved_commission: decimalText(items.approvedMicros),
      paid_items: items.paidItems,
      paid_commission: decimalText(items.paidMicros),
      restated_days: Object.fromEntries(this.restated),
    };
  }
}

const NONE: ItemChanges = {
  ...{
    newItems: 0,
    newOrders: 0,
    vanishedItems: 0,
    approvedItems: 0,
    approvedMicros: 0n,
    paidItems: 0,
    paidMicros: 0n,
  },
};

/** To be asked before the changes are committed, while the files of both sides are there. */
export async function whatChanges(
  context: Pick<RunContext, 'lake' | 'log'>,
  engine: Engine,
  pipeline: Pipeline,
  changes: readonly SliceChange[],
): Promise<SliceChanges> {
  const before = await context.lake.slices(pipeline.name);
  const observed = observedSlices(changes).filter(({ day, digest }) => before.get(day)?.content.digest !== digest);
  const known = observed.flatMap(({ day }) => before.get(day) ?? []);
  const restatedDays = known.length;
  const about = { pipeline: pipeline.name, restatedDays };
  if (observed.length === 0 || !hasMoney(pipeline)) return { ...about, items: null };
  const filesBefore = known.flatMap((entry) => context.lake.rowsFile(entry) ?? []);
  const filesAfter = observed.flatMap(({ file }) => file ?? []);
  const days = known.map(({ content }) => `DATE ${quoteText(content.day)}`);
  try {
    if (restatedDays === 0) {
      const rows = changes.flatMap((change) => (change.kind === 'replace' ? change.content.rows : []));
      const newOrders = await ordersIn(engine, pipeline, filesAfter);
      return { ...about, items: { ...NONE, newItems: rows.reduce((sum, n) => sum + n, 0), newOrders } };
    }
    return { ...about, items: await compare(engine, pipeline, filesBefore, filesAfter, days) };
  } catch (error) {
    // A file that is damaged is fixed by this very commit; numbers for people must not stop it.
    context.log.debug(`${pipeline.name}: what changed could not be counted`, { pipeline: pipeline.name, error });
    return { ...about, items: null };
  }
}

const MONEY = ['commission', 'status_group', 'approved_for_payment'];

function hasMoney(pipeline: Pipeline): boolean {
  const names = new Set(storedColumns(pipeline).map(({ column }) => column));
  return pipeline.key !== null && pipeline.write === 'replace' && MONEY.every((name) => names.has(name));
}

/** Where nothing was known before, only one column is looked at. */
async function ordersIn(engine: Engine, pipeline: Pipeline, files: readonly string[]): Promise<number> {
  if (files.length === 0) return 0;
  const order = quoteName(orderColumn(pipeline));
  const { n } = await engine.row(`SELECT count(DISTINCT ${order}) AS n FROM ${readParquet(files)}`);
  return Number(n);
}

/** The key of an item begins with its order. */
function orderColumn({ name, key }: Pipeline): string {
  const [first] = key ?? [];
  assert(first, `${name} has no key`);
  return first;
}

async function compare(
  engine: Engine,
  pipeline: Pipeline,
  before: readonly string[],
  after: readonly string[],
  knownDays: readonly string[],
): Promise<ItemChanges> {
  const key = (pipeline.key ?? []).map(quoteName).join(', ');
  const order = quoteName(orderColumn(pipeline));
  const rows = (files: readonly string[]) =>
    files.length === 0
      ? `SELECT ${(pipeline.key ?? []).map((name) => `NULL::VARCHAR AS ${quoteName(name)}`).join(', ')}, NULL::DATE AS _day,
           false AS _approved, false AS _paid, NULL::DECIMAL(18,6) AS commission, true AS _there WHERE false`
      : `SELECT ${key}, ${quoteName(pipeline.day)} AS _day, coalesce(status_group = 'approved', false) AS _approved,
           coalesce(approved_for_payment, false) AS _paid, commission, true AS _there FROM ${readParquet(files)}`;
  const micros = (of: string) =>
    `CAST(coalesce(sum(CAST(n.commission AS DECIMAL(28,6)) * 1000000) FILTER (${of}), 0) AS HUGEINT)::VARCHAR`;
  const isKnown = `n._day IN (${knownDays.join(', ')})`;
  const approved = `n._approved AND NOT coalesce(o._approved, false) AND ${isKnown}`;
  const paid = `n._paid AND NOT coalesce(o._paid, false) AND ${isKnown}`;
  const row = await engine.row(
    `SELECT count(*) FILTER (o._there IS NULL) AS fresh, count(*) FILTER (n._there IS NULL) AS gone,
       (SELECT count(*) FROM (SELECT ${order} FROM (${rows(after)}) EXCEPT SELECT ${order} FROM (${rows(before)}))) AS orders,
       count(*) FILTER (${approved}) AS approved, ${micros(approved)} AS approved_micros,
       count(*) FILTER (${paid}) AS paid, ${micros(paid)} AS paid_micros
     FROM (${rows(before)}) AS o FULL JOIN (${rows(after)}) AS n USING (${key})`,
  );
  return {
    newItems: Number(row.fresh),
    newOrders: Number(row.orders),
    vanishedItems: Number(row.gone),
    approvedItems: Number(row.approved),
    approvedMicros: BigInt(String(row.approved_micros)),
    paidItems: Number(row.paid),
    paidMicros: BigInt(String(row.paid_micros)),
  };
}

/** `1234.5` for 1,234,500,000 millionths; two digits behind the point at least. */
function decimalText(micros: bigint): string {
  const sign = micros < 0n ? '-' : '';
  const digits = String(micros < 0n ? -micros : micros).padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${sign}${digits.slice(0, -6)}.${fraction}`;
}

/** A slice as it comes into the lake; `file`: absolute path of its rows, null for none. */
export interface ObservedSlice {
  readonly day: Day;
  readonly digest: string;
  readonly file: string | null;
}

/** The slices whose rows the changes replace. */
export function observedSlices(changes: readonly SliceChange[]): ObservedSlice[] {
  return changes.flatMap((c) =>
    c.kind === 'replace' || c.kind === 'amend'
      ? [{ day: c.content.day, digest: c.content.digest, file: c.files.file }]
      : [],
  );
}
