/**
 * Rows of the reports as cells: one list of fields and values from which both the answer's text and the truth are made.
 * Only the orders report has a second, faster way to its text (order-bytes.ts), which a test holds against this one.
 */

import { centsText } from '../catalogue/amounts.ts';
import { Decimal, jsonText } from '../http/json-text.ts';
import { asBytes } from '../http/pieces.ts';
import type { ReportName } from '../report-name.ts';
import type { World } from '../world.ts';
import type { FieldValue } from './edits.ts';
import { orderIdOf, orderItemIdOf } from './items.ts';
import type { DayItems } from './orders.ts';
import type { Placement } from './placements.ts';

/** Money and percentages are decimal text that is written as a JSON number; `undefined` is a field left out. */
export type Cell = readonly [field: string, value: FieldValue | Decimal | undefined];

export type Row = readonly Cell[];
export type TruthRow = Record<string, FieldValue>;

export function money(cents: number): Decimal {
  return new Decimal(centsText(cents));
}

/** `"field":value,` for every cell that has a value. */
export function cellsText(row: Row): string {
  let text = '';
  for (const [field, value] of row) if (value !== undefined) text += `"${field}":${asBytes(jsonText(value))},`;
  return text;
}

export function rowText(row: Row): string {
  return `{${cellsText(row).slice(0, -1)}}`;
}

export function truthOf(row: Row): TruthRow {
  const truth: TruthRow = {};
  for (const [field, value] of row)
    if (value !== undefined) truth[field] = value instanceof Decimal ? value.text : value;
  return truth;
}

export function placementCells(placement: Placement): Row {
  return [
    ['siteName', placement.siteName],
    ['siteCode', placement.siteCode],
    ['frameType', placement.frameType],
    ['name', placement.name],
    ['subId', placement.subId],
  ];
}

export function productCells(title: string, productId: string, chunkName: string | undefined): Row {
  return [
    ['productTitle', title],
    ['productId', productId],
    ['chunkName', chunkName],
  ];
}

export function amountCells(items: DayItems): Row {
  return [
    ['quantity', items.pieces],
    ['priceExclVat', money(items.exclCents)],
    ['priceInclVat', money(items.inclCents)],
    ['commissionPercentage', money(items.percentage)],
    ['commission', money(items.commissionCents)],
  ];
}

export function extraCells(world: World, report: ReportName): Row {
  return [...(world.edits.fieldsOf(report) ?? [])];
}

/** The order item under the cursor. */
export function orderRow(world: World, items: DayItems): Row {
  const product = world.catalogue.products[items.product]!;
  const state = items.reported;
  return [
    ['orderDate', items.shownDay],
    ['orderDateTime', items.orderTime],
    ['orderId', orderIdOf(items)],
    ['orderItemId', orderItemIdOf(items)],
    ...productCells(items.restated?.productTitle ?? product.title, product.productId, product.chunkName),
    ...placementCells(world.placements[items.placement]!),
    ['status', state.status],
    ...amountCells(items),
    ['statusFinal', state.statusFinal],
    ['approvedForPayment', state.approvedForPayment],
    ...extraCells(world, 'orders'),
  ];
}
