/** The three reports over a range of days: as the text of an answer, in pieces, and as the truth. */
import { type DayRange, dayNumber } from '../../core/days.ts';
import { dutchWall } from '../dutch-time.ts';
import { PieceBuffer } from '../http/pieces.ts';
import type { ReportName } from '../report-name.ts';
import type { World } from '../world.ts';
import { type OrderParts, writeOrders } from './bytes.ts';
import { DayItems } from './orders.ts';
import { orderRow, type Row, rowText, type TruthRow, truthOf } from './rows.ts';
import { commissionRows, promotionRows } from './sums.ts';

const COMMA = 44;

/** What stands round and between the items of an answer. */
export interface Frame {
  readonly open: string;
  readonly close: string;
}

export const ITEMS_FRAME: Frame = { open: '{"items":[', close: ']}' };

/** Replaces the text of the item at a position (from 0) by what stands in the answer for it; '' leaves it out. */
export type ItemEditor = (text: string, position: number) => string;

/** The days of a range that have any rows at this time. */
function* existingDays(world: World, range: DayRange, now: number): Generator<number> {
  const last = Math.min(dayNumber(range.to), dutchWall(now).day);
  for (let day = Math.max(dayNumber(range.from), world.firstDay); day <= last; day++) yield day;
}

function sumRows(world: World, report: 'promotions' | 'commissions', day: number, now: number): Row[] {
  const rows = report === 'promotions' ? promotionRows(world, day, now) : commissionRows(world, day, now);
  return rows.slice(0, Math.min(rows.length, world.edits.rowLimit(report, day)));
}

function orderItems(world: World, day: number, now: number): DayItems {
  return new DayItems(world, day, now, world.edits.rowLimit('orders', day));
}

function* rowsOfDay(world: World, report: ReportName, day: number, now: number): Generator<Row> {
  if (report !== 'orders') return yield* sumRows(world, report, day, now);
  const items = orderItems(world, day, now);
  while (items.next()) yield orderRow(world, items);
}

/** Like writeOrders, for any report, a row at a time. */
function* writeRows(rows: Iterable<Row>, out: PieceBuffer, edit: (text: string) => string): Generator<Buffer> {
  for (const row of rows) {
    const text = edit(rowText(row));
    if (out.full) yield out.take();
    if (text !== '') out.write(`${text},`);
  }
}

/** The bytes of an answer in pieces. With an editor every item passes through it, as one-byte text of its UTF-8 bytes. */
export function* reportPieces(
  parts: OrderParts,
  report: ReportName,
  range: DayRange,
  now: number,
  frame: Frame = ITEMS_FRAME,
  editor?: ItemEditor,
): Generator<Buffer> {
  const { world } = parts;
  const out = new PieceBuffer();
  out.write(frame.open);
  let position = 0;
  const edit = (text: string) => (editor === undefined ? text : editor(text, position++));
  for (const day of existingDays(world, range, now)) {
    if (report === 'orders' && editor === undefined) yield* writeOrders(parts, orderItems(world, day, now), out);
    else yield* writeRows(rowsOfDay(world, report, day, now), out, edit);
  }
  // Every item has a comma behind it, and the last one is still in the buffer.
  if (out.at > 0 && out.bytes[out.at - 1] === COMMA) out.at--;
  out.write(frame.close);
  yield out.take();
}

/** What a perfect client would hold of a range, row by row, in the order of the answer. */
export function* reportTruth(world: World, report: ReportName, range: DayRange, now: number): Generator<TruthRow> {
  for (const day of existingDays(world, range, now))
    for (const row of rowsOfDay(world, report, day, now)) yield truthOf(row);
}
