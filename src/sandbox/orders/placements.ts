/** Where promotions stand: site, kind of tool, the partner's name for it, and sub-ID. Every report is grouped by these. */
import { below, hash2, hash3 } from '../hash.ts';

export interface Placement {
  readonly index: number;
  readonly siteName: string;
  readonly siteCode: string;
  readonly frameType: string;
  /** Absent where the partner gave none. */
  readonly name: string | undefined;
  readonly subId: string | undefined;
}

const SITES = ['Vergelijk & Bespaar', 'De Leestafel', 'Thuis in Tuinen', 'Bébé & Co', 'gadgets-“vandaag”.nl'];
const TOOLS: readonly (readonly [frameType: string, names: readonly (string | undefined)[]])[] = [
  ['text-link', ['homepage', 'artikel "beste koop"', undefined]],
  ['productfeed', ['feed-nl', 'feed-be']],
  ['banner', ['zomeractie 468×60', 'sidebar']],
  ['bestsellerlist', ['top 10']],
  ['searchbox', [undefined]],
];
const SUB_IDS = [undefined, 'nieuwsbrief_12', 'ig/story?ref=é'];

/** In the order in which reports list them. The grouping fields of no two are alike. */
export function makePlacements(seed: number): readonly Placement[] {
  return SITES.flatMap((siteName, site) => {
    const siteCode = String(1_000_000 + site * 17_003 + below(hash2(seed, 201 + site), 17_000));
    return TOOLS.flatMap(([frameType, names]) =>
      names.flatMap((name) => SUB_IDS.map((subId) => ({ siteName, siteCode, frameType, name, subId }))),
    );
  }).map((placement, index) => ({ index, ...placement }));
}

/** The placement of an order: 16 bits of its hash, with some placements far busier than others. */
export function placementOf(bits: number, count: number): number {
  const part = bits / 65_536;
  return Math.floor(part * part * count);
}

/** Clicks of a placement on a whole day; about twenty for every order that may be expected of it. */
export function clicksOfDay(seed: number, day: number, placement: number, count: number, ordersPerDay: number): number {
  const share = Math.sqrt((placement + 1) / count) - Math.sqrt(placement / count);
  const h = hash3(seed, day, 0x40000000 + placement);
  return Math.floor(share * ordersPerDay * (12 + below(h, 16))) + below(h >>> 8, 5);
}

/** Impressions for a number of clicks; at least as many. */
export function impressionsOf(seed: number, day: number, placement: number, clicks: number): number {
  const h = hash3(seed, day, 0x50000000 + placement);
  return clicks * (15 + below(h, 60)) + below(h >>> 8, 97);
}
