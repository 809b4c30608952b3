/** Changes of what the retailer API and the catalogue say: single EANs, unknown EANs, and the reductions file. */
import { type Day, dayNumber, isDay } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Rate, Reduction } from './amounts.ts';
import { centsOf } from './amounts.ts';
import { isEan } from './catalogue.ts';
import type { ReductionLine } from './csv-file.ts';
import type { OfferEdit } from './ean-edits.ts';
import type { LinePattern } from './exports.ts';
import { COUNTRIES } from './products.ts';
import { type Retailer, UNKNOWN_EAN_STATUSES, UNKNOWN_EAN_WAYS, type UnknownEan } from './retailer.ts';

/** Amounts and percentages as decimal text with at most two digits after the point. */
export type BoundaryValues = Omit<ReductionLine, 'ean'>;

export type RetailChange =
  /** From now on the EAN has this rate; what is not given stays as it was. */
  | {
      readonly kind: 'commission-rate';
      readonly ean: string;
      readonly fixedAmount?: string;
      readonly percentage?: string;
    }
  /**
   * From now on the commission answers of the EAN know these reductions, on the days on which they are active: none for an
   * empty list, those of its campaigns again for null. The reductions file is exported apart and does not follow.
   */
  | {
      readonly kind: 'commission-reductions';
      readonly ean: string;
      readonly reductions: readonly BoundaryValues[] | null;
    }
  /** Whether the retailer API knows the EAN; the catalogue does not follow. */
  | { readonly kind: 'ean-known'; readonly ean: string; readonly known: boolean }
  /** What a bulk request with an unknown EAN comes to; what is not given stays as it was. */
  | ({ readonly kind: 'unknown-ean' } & Partial<UnknownEan>)
  | {
      readonly kind: 'product';
      readonly ean: string;
      readonly title?: string;
      readonly price?: string;
      /** null: no price is struck through. */
      readonly strikethroughPrice?: string | null;
      readonly deliveryDescription?: string;
    }
  | { readonly kind: 'product-offered'; readonly ean: string; readonly country: string; readonly offered: boolean }
  /**
   * A new reductions file now, the newest one until that of the next day. Its name carries the time unless one is given;
   * its content is that of the newest file, or that of another day.
   */
  | { readonly kind: 'reductions-file'; readonly name?: string; readonly contentOf?: Day }
  /** Lines of the newest file and all later ones come and go at once, whatever the file's name. First they go. */
  | {
      readonly kind: 'reductions-lines';
      readonly add?: readonly ReductionLine[];
      /** All lines that have the values given. */
      readonly remove?: readonly LinePattern[];
    };

const KINDS: ReadonlySet<string> = new Set<RetailChange['kind']>([
  'commission-rate',
  'commission-reductions',
  'ean-known',
  'unknown-ean',
  'product',
  'product-offered',
  'reductions-file',
  'reductions-lines',
]);

/** Names that no client could take for a path; other ones come by the faults `announced-name` and `disposition`. */
const FILE_NAME = /^\w[\w.-]{0,199}$/;

export function isRetailChange(change: { readonly kind: string }): change is RetailChange {
  return KINDS.has(change.kind);
}

function refused(change: RetailChange, why: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_change', `change "${change.kind}": ${why}`, { hint });
}

function checkEan(change: RetailChange, ean: string): void {
  if (!isEan(ean)) throw refused(change, `"${ean}" is no EAN`, '13 digits, of which the last one checks the others');
}

function centsIn(change: RetailChange, field: string, text: string): number {
  const cents = centsOf(text);
  if (cents === undefined || cents < 0)
    throw refused(change, `${field}: "${text}" is not accepted`, 'a decimal text, at most two digits after the point');
  return cents;
}

function dayIn(change: RetailChange, field: string, text: string): number {
  if (!isDay(text)) throw refused(change, `${field}: "${text}" is not a day`, 'write it as yyyy-mm-dd');
  return dayNumber(text);
}

function reductionIn(change: RetailChange, values: BoundaryValues): Reduction {
  return {
    maximumCents: centsIn(change, 'maximumPrice', values.maximumPrice),
    costCents: centsIn(change, 'costReduction', values.costReduction),
    startDay: dayIn(change, 'startDate', values.startDate),
    endDay: dayIn(change, 'endDate', values.endDate),
  };
}

type Of<K extends RetailChange['kind']> = Extract<RetailChange, { kind: K }>;

function changeRate({ world }: Retailer, change: Of<'commission-rate'>): void {
  const { fixedAmount, percentage } = change;
  const rate: Partial<Rate> = {
    ...world.eans.of(change.ean)?.rate,
    ...(fixedAmount === undefined ? {} : { fixedCents: centsIn(change, 'fixedAmount', fixedAmount) }),
    ...(percentage === undefined ? {} : { percentage: centsIn(change, 'percentage', percentage) }),
  };
  if ((rate.percentage ?? 0) > 10_000) throw refused(change, 'more than the price', 'a percentage up to 100');
  world.eans.edit(change.ean, { rate });
}

function changeProduct({ world }: Retailer, change: Of<'product'>): void {
  const { ean, title, price, strikethroughPrice: struck, deliveryDescription } = change;
  if (!world.catalogue.byEan.has(ean)) throw refused(change, `${ean} is not in the catalogue`, 'take a catalogue EAN');
  const offer: OfferEdit = {
    ...world.eans.of(ean)?.offer,
    ...(price === undefined ? {} : { priceCents: centsIn(change, 'price', price) }),
    ...(struck === undefined
      ? {}
      : { strikethroughCents: struck === null ? null : centsIn(change, 'strikethroughPrice', struck) }),
    ...(deliveryDescription === undefined ? {} : { deliveryDescription }),
  };
  world.eans.edit(ean, { offer, ...(title === undefined ? {} : { title }) });
}

function changeOffered({ world }: Retailer, change: Of<'product-offered'>): void {
  const { ean, country, offered } = change;
  if (!world.catalogue.byEan.has(ean)) throw refused(change, `${ean} is not in the catalogue`, 'take a catalogue EAN');
  if (!COUNTRIES.includes(country))
    throw refused(change, `"${country}" is no country`, `one of ${COUNTRIES.join(', ')}`);
  world.eans.edit(ean, { offered: { ...world.eans.of(ean)?.offered, [country]: offered } });
}

function changeUnknownEan(retailer: Retailer, change: Of<'unknown-ean'>): void {
  const { as = retailer.unknownEan.as, status = retailer.unknownEan.status } = change;
  if (!UNKNOWN_EAN_WAYS.includes(as)) throw refused(change, `as "${as}"`, `one of ${UNKNOWN_EAN_WAYS.join(', ')}`);
  if (!UNKNOWN_EAN_STATUSES.includes(status))
    throw refused(change, `status ${status}`, `one of ${UNKNOWN_EAN_STATUSES.join(', ')}`);
  retailer.unknownEan = { as, status };
}

function changeFile({ exports }: Retailer, change: Of<'reductions-file'>, now: number): void {
  const { name, contentOf } = change;
  if (name !== undefined && !FILE_NAME.test(name))
    throw refused(
      change,
      `"${name}" is no name of an export`,
      'letters, digits, point, dash, underscore; else a fault',
    );
  exports.order(now, name, contentOf === undefined ? undefined : dayIn(change, 'contentOf', contentOf));
}

function changeLines({ exports }: Retailer, change: Of<'reductions-lines'>, now: number): void {
  const { add = [], remove = [] } = change;
  for (const line of add) {
    checkEan(change, line.ean);
    reductionIn(change, line);
  }
  for (const pattern of remove)
    if (!exports.removeLines(pattern, now))
      throw refused(change, `no line fits ${JSON.stringify(pattern)}`, 'take its values from the newest file');
  exports.addLines(add);
}

/** Changes what the retailer says; refuses (usage) what cannot be. */
export function applyRetailChange(retailer: Retailer, change: RetailChange, now: number): void {
  const { eans } = retailer.world;
  if ('ean' in change) checkEan(change, change.ean);
  switch (change.kind) {
    case 'commission-rate':
      changeRate(retailer, change);
      break;
    case 'commission-reductions':
      eans.edit(change.ean, { reductions: change.reductions?.map((values) => reductionIn(change, values)) });
      break;
    case 'ean-known':
      eans.edit(change.ean, { isKnown: change.known });
      break;
    case 'unknown-ean':
      changeUnknownEan(retailer, change);
      break;
    case 'product':
      changeProduct(retailer, change);
      break;
    case 'product-offered':
      changeOffered(retailer, change);
      break;
    case 'reductions-file':
      changeFile(retailer, change, now);
      break;
    case 'reductions-lines':
      changeLines(retailer, change, now);
      break;
  }
}
