/** Changes of the world: what is true becomes something else, in the answers and in the truth alike. Plain JSON. */
import { type Day, dayNumber, isDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { centsOf } from './catalogue/amounts.ts';
import { applyRetailChange, isRetailChange, type RetailChange } from './catalogue/changes.ts';
import type { Retailer } from './catalogue/retailer.ts';
import { isReport, REPORT_NAMES } from './http/endpoints.ts';
import type { TokenService } from './http/tokens.ts';
import type { FieldValue } from './orders/edits.ts';
import { type ItemPlace, orderIdOf, placeOf, type Restatement } from './orders/items.ts';
import { DayItems } from './orders/orders.ts';
import { applyPushChange, isPushChange, type Pushable, type PushChange } from './push/changes.ts';
import type { OrderedEnd, Processes } from './push/processes.ts';
import type { ReportName } from './report-name.ts';
import type { World } from './world.ts';

interface ItemName {
  readonly orderId: string;
  readonly orderItemId: string;
}

/** `all`: the items themselves, so that the three reports go on agreeing. */
export type ChangedReport = ReportName | 'all';

/** New values of an item; amounts and percentages as decimal text with at most two digits after the point. */
export interface RestatedValues {
  readonly quantity?: number;
  readonly priceExclVat?: string;
  readonly priceInclVat?: string;
  readonly commissionPercentage?: string;
  /** Computed from the others when it is not given. */
  readonly commission?: string;
  readonly productTitle?: string;
  readonly status?: string;
  readonly statusFinal?: boolean;
  readonly approvedForPayment?: boolean;
}

export type Change =
  | { readonly kind: 'empty-day'; readonly report: ChangedReport; readonly day: Day }
  /** Only the first `items` rows of the day remain. */
  | { readonly kind: 'shrink-day'; readonly report: ChangedReport; readonly day: Day; readonly items: number }
  /** The item has another order date from now on; moving it home ends that. */
  | ({ readonly kind: 'move-item'; readonly toDay: Day } & ItemName)
  | ({ readonly kind: 'vanish-item' } & ItemName)
  | ({ readonly kind: 'restate-item'; readonly values: RestatedValues } & ItemName)
  /** Every row of the report has this field from now on. */
  | { readonly kind: 'add-field'; readonly report: ReportName; readonly field: string; readonly value: FieldValue }
  | RetailChange
  | PushChange
  /** No token that was issued until now is accepted any more. */
  | { readonly kind: 'revoke-tokens' }
  /** The next process that is started ends so, whatever it is about. */
  | ({ readonly kind: 'next-process' } & OrderedEnd);

function refused(change: Change, why: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_change', `change "${change.kind}": ${why}`, { hint });
}

function dayOf(change: Change, text: string): number {
  if (!isDay(text)) throw refused(change, `"${text}" is not a day`, 'write it as yyyy-mm-dd');
  return dayNumber(text);
}

function placeOfItem(world: World, change: Change & ItemName, now: number): ItemPlace {
  const { orderId, orderItemId } = change;
  const place = placeOf(orderItemId);
  if (place === undefined || orderIdOf(place) !== orderId || !new DayItems(world, place.day, now).find(place))
    throw refused(
      change,
      `there is no item ${orderItemId} in order ${orderId}`,
      'take both ids from the orders report',
    );
  return place;
}

function restatementOf(change: Change, values: RestatedValues): Restatement {
  const cents = (field: keyof RestatedValues, text: string | undefined) => {
    if (text === undefined) return undefined;
    const value = centsOf(text);
    if (value === undefined || (field === 'commissionPercentage' && (value < 0 || value > 10_000)))
      throw refused(
        change,
        `${field}: "${text}" is not accepted`,
        'a decimal text, at most two digits after the point',
      );
    return value;
  };
  const { quantity, productTitle, status, statusFinal, approvedForPayment } = values;
  const restated = {
    quantity,
    productTitle,
    status,
    statusFinal,
    approvedForPayment,
    exclCents: cents('priceExclVat', values.priceExclVat),
    inclCents: cents('priceInclVat', values.priceInclVat),
    percentage: cents('commissionPercentage', values.commissionPercentage),
    commissionCents: cents('commission', values.commission),
  };
  return Object.fromEntries(Object.entries(restated).filter(([, value]) => value !== undefined)) as Restatement;
}

function limitDay(world: World, change: Change, report: ChangedReport, day: Day, rows: number): void {
  const number = dayOf(change, day);
  if (!Number.isInteger(rows) || rows < 0) throw refused(change, `${rows} is no count`, 'items is 0 or more');
  if (report !== 'all' && !isReport(report))
    throw refused(change, `"${report}" is no report`, `one of ${REPORT_NAMES.join(', ')}, all`);
  if (report === 'all') world.edits.limitItems(number, rows);
  else world.edits.limitRows(report, number, rows);
  // Promotions also have rows for what was only shown; on an empty day there are none of those either.
  if (report === 'all' && rows === 0) world.edits.limitRows('promotions', number, 0);
}

/** What changes can be made in. */
export interface Changeable extends Pushable {
  readonly world: World;
  readonly processes: Processes;
  readonly retailer: Retailer;
  readonly tokens: TokenService;
}

/** Changes the world; refuses (usage) what cannot be. `now` says which items exist. */
export function applyChange(changeable: Changeable, change: Change, now: number): void {
  const { world, processes, retailer, tokens } = changeable;
  const { edits } = world;
  if (isRetailChange(change)) {
    applyRetailChange(retailer, change, now);
    return;
  }
  if (isPushChange(change)) {
    applyPushChange(changeable, change, now);
    return;
  }
  switch (change.kind) {
    case 'empty-day':
      limitDay(world, change, change.report, change.day, 0);
      break;
    case 'shrink-day':
      limitDay(world, change, change.report, change.day, change.items);
      break;
    case 'move-item':
      edits.move(placeOfItem(world, change, now), dayOf(change, change.toDay));
      break;
    case 'vanish-item':
      edits.vanish(placeOfItem(world, change, now));
      break;
    case 'restate-item':
      edits.restate(placeOfItem(world, change, now), restatementOf(change, change.values));
      break;
    case 'add-field':
      if (!isReport(change.report)) throw refused(change, `"${change.report}" is no report`, 'name a report');
      edits.addField(change.report, change.field, change.value);
      break;
    case 'revoke-tokens':
      tokens.revokeAll();
      break;
    case 'next-process':
      if (change.status !== 'FAILURE' && change.status !== 'TIMEOUT')
        throw refused(change, `"${change.status}" cannot be ordered`, 'FAILURE or TIMEOUT');
      processes.order(change);
      break;
    default:
      throw new EtlError('usage', 'bad_change', `"${(change as Change).kind}" is no kind of change`);
  }
}
