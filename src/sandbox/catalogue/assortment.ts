/**
 * What the retailer API knows of an EAN: the products of the catalogue, and a long series of further EANs that fill the
 * reductions file. Commission rates and reductions hang on the day,
 * and on what was changed about the EAN.
 */

import { below, hash2, hash3, pick } from '../hash.ts';
import type { World } from '../world.ts';
import { commissionOf, type Rate, type Reduction } from './amounts.ts';
import { checkDigit, PRODUCTS } from './catalogue.ts';
import type { EanEdit } from './ean-edits.ts';

const SERIES_PREFIX = '872';
/** Seller commission in hundredths of a percent. */
const PERCENTAGES = [700, 1000, 1200, 1240, 1500, 1600];
const FIXED_CENTS = [20, 85, 99, 100];
/** Rates are looked at again twice a year; then one in ten rises by half a percent. */
const RATE_DAYS = 182;
const RATE_STEP = 50;

/** A reduction comes round every CAMPAIGN_DAYS, begins within the first 20 of them and lasts 7 to 36 days. */
const CAMPAIGN_DAYS = 60;

export interface Entry {
  readonly ean: string;
  /** Everything about it hangs on this. */
  readonly hash: number;
  /** Whether it ever has a reduction of a campaign. */
  readonly isReduced: boolean;
  readonly edit: EanEdit | undefined;
}

function seriesEan(index: number): string {
  const body = `${SERIES_PREFIX}${String(index).padStart(9, '0')}`;
  return body + checkDigit(body);
}

function eanAt(world: World, index: number): string {
  return index < PRODUCTS ? world.catalogue.products[index]!.ean : seriesEan(index - PRODUCTS);
}

function entryAt(world: World, index: number, ean: string): Entry {
  const hash = hash3(world.seed, 301, index);
  return { ean, hash, isReduced: index >= PRODUCTS || below(hash >>> 5, 5) < 2, edit: world.eans.of(ean) };
}

/** The entry of an EAN, whose check digit was looked at; undefined for one that the retailer does not know. */
export function entryOf(world: World, seriesLength: number, ean: string): Entry | undefined {
  const edit = world.eans.of(ean);
  if (edit?.isKnown === false) return undefined;
  const product = world.catalogue.byEan.get(ean);
  if (product !== undefined) return entryAt(world, product.index, ean);
  const index = Number(ean.slice(3, 12));
  if (ean.startsWith(SERIES_PREFIX) && index < seriesLength) return entryAt(world, PRODUCTS + index, ean);
  return edit?.isKnown ? { ean, hash: hash3(world.seed, 302, index), isReduced: false, edit } : undefined;
}

/** The first `count` EANs that are known when the world begins: those of the catalogue, then the series. */
export function firstEans(world: World, count: number): string[] {
  return Array.from({ length: count }, (_, index) => eanAt(world, index));
}

export function* entries(world: World, seriesLength: number): Generator<Entry> {
  for (let index = 0; index < PRODUCTS + seriesLength; index++) yield entryAt(world, index, eanAt(world, index));
}

export function rateOf({ hash, edit }: Entry, day: number): Rate {
  const period = Math.floor((day + below(hash, RATE_DAYS)) / RATE_DAYS);
  const raised = below(hash2(hash, period), 10) === 0;
  return {
    fixedCents: pick(FIXED_CENTS, hash >>> 7),
    percentage: pick(PERCENTAGES, hash >>> 12) + (raised ? RATE_STEP : 0),
    ...edit?.rate,
  };
}

/** Commission for selling at a price, without any reduction. */
export function totalCents(rate: Rate, priceCents: number): number {
  return rate.fixedCents + commissionOf(priceCents, 1, rate.percentage);
}

/** The reductions of the campaign round a day, whether it has begun, is on, or is over. */
export function reductionsOf({ hash, isReduced }: Entry, day: number): readonly Reduction[] {
  if (!isReduced) return [];
  const offset = below(hash >>> 9, CAMPAIGN_DAYS);
  const campaign = Math.floor((day + offset) / CAMPAIGN_DAYS);
  const h = hash2(hash, campaign);
  const startDay = campaign * CAMPAIGN_DAYS - offset + below(h, 20);
  const endDay = startDay + 6 + below(h >>> 5, 30);
  const maximumCents = 1000 + below(h >>> 10, 9000);
  const first = { maximumCents, costCents: 50 + below(h >>> 3, 300), startDay, endDay };
  // Some have a second boundary: cheaper still when the price is lower.
  if (below(h >>> 13, 3) > 0) return [first];
  return [first, { ...first, maximumCents: Math.floor(maximumCents * 0.8), costCents: first.costCents + 40 }];
}

export function activeReductions(entry: Entry, day: number): readonly Reduction[] {
  const reductions = entry.edit?.reductions ?? reductionsOf(entry, day);
  return reductions.filter(({ startDay, endDay }) => day >= startDay && day <= endDay);
}
