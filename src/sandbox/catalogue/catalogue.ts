/** The products of the sandbox: some thousands, made from the seed, with titles that test their readers. */

import { below, hash3, pick } from '../hash.ts';
import { commissionOf, withoutVat } from './amounts.ts';

export const PRODUCTS = 4000;
/** Prices that a product is sold at: the list price and discounts of it. */
export const PRICES = 4;
/** Quantities are 1 .. MAX_QUANTITY. */
export const MAX_QUANTITY = 3;

export interface Product {
  readonly index: number;
  readonly ean: string;
  readonly productId: string;
  readonly title: string;
  readonly group: ProductGroup;
  /** Absent on some products, as fields of the real service are. */
  readonly chunkName: string | undefined;
  /** Including VAT, in cents; the first is the list price. */
  readonly inclCents: readonly number[];
  readonly exclCents: readonly number[];
}

export interface ProductGroup {
  readonly name: string;
  readonly nouns: readonly string[];
  readonly vatPercent: 9 | 21;
  /** Affiliate commission in hundredths of a percent. */
  readonly percentage: number;
}

const group = (name: string, vatPercent: 9 | 21, percentage: number, nouns: readonly string[]): ProductGroup => ({
  name,
  vatPercent,
  percentage,
  nouns,
});

const GROUPS: readonly ProductGroup[] = [
  group('Elektronica', 21, 250, ['Draadloze koptelefoon', 'Powerbank 20.000 mAh', 'USB-C kabel 2 m', '55" televisie']),
  group('Boeken', 9, 500, ['Roman', 'Kookboek', 'Reisgids België & Nederland', 'Woordenboek Français–Nederlands']),
  group('Speelgoed', 21, 750, ['Houten treinbaan', 'Puzzel 1000 stukjes', 'Knuffelbeer 🧸', 'Bordspel "Wie is het?"']),
  group('Koken & Tafelen', 21, 700, ['Crème brûlée set', 'Gietijzeren braadpan', 'Koffiemok', 'Messenset "Solingen"']),
  group('Baby', 21, 600, ['Romper maat 62/68', 'Babyfoon', 'Kinderwagen', 'Slaapzak voor baby’s']),
  group('Tuin', 21, 1000, ['Tuinslang ½"', 'Parasol Ø 3 m', 'Bloempot', 'Vogelhuisje']),
  group('Sport & Vrije tijd', 21, 800, ['Yogamat', 'Hardloopschoenen', 'Fietshelm', 'Tent voor 4 personen ⛺']),
  group('Mooi & gezond', 21, 1250, [
    'Crème voor de gevoelige huid',
    'Föhn',
    'Elektrische tandenborstel',
    'Après-soleil',
  ]),
  group('Levensmiddelen', 9, 300, ['Koffiebonen 1 kg', 'Thee "Earl Grey"', 'Stroopwafels', 'Olijfolie extra vierge']),
  group('Dierenbenodigdheden', 21, 450, ['Kattenbak', 'Hondenmand', 'Aquarium 60 l', 'Krabpaal']),
];

const BRANDS = [
  'Zørn',
  'Kéa',
  'Van der Meer',
  'Blauwe Haas',
  'D’Oré',
  'Noordlicht',
  'Müller & Zn.',
  'Très Bien',
  'Ωmega',
];
const COLOURS = ['zwart', 'wit', 'crème', 'donkerblauw', 'grijs/antraciet', 'geel', 'groen', 'roze', 'naturel'];
const EXTRAS = [
  '',
  ' – 2 stuks',
  ' (nieuw model)',
  ' "limited edition"',
  ' 🎁',
  ' met 5 jaar garantie',
  ' \\ set',
  ' 100% katoen',
];

/** Character code of the digit 0. */
const ZERO = 48;

/** The last digit of an EAN-13 whose first twelve are given; what follows them is not looked at. */
export function checkDigit(twelve: string): string {
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += (twelve.charCodeAt(i) - ZERO) * (i % 2 === 0 ? 1 : 3);
  return String((10 - (sum % 10)) % 10);
}

export function isEan(text: string): boolean {
  return /^\d{13}$/.test(text) && checkDigit(text) === text[12];
}

/** A valid EAN for every number below 100,000; one in 29 begins with a zero. `salt` separates series of them. */
export function eanOf(seed: number, salt: number, index: number): string {
  const rest = below(hash3(seed, salt, index), 10_000);
  const prefix = index % 29 === 7 ? '060' : '871';
  const body = `${prefix}${String(index).padStart(5, '0')}${String(rest).padStart(4, '0')}`;
  return body + checkDigit(body);
}

function makeProduct(seed: number, index: number): Product {
  const h = hash3(seed, 101, index);
  const kind = pick(GROUPS, h);
  const words = [pick(BRANDS, h >>> 4), pick(kind.nouns, h >>> 9), '-', pick(COLOURS, h >>> 14)];
  const title = `${words.join(' ')}${pick(EXTRAS, h >>> 18)} - ${1000 + index}`;
  // Mostly some tens of euros, now and then more than a thousand; prices end in 95 or 99, seldom round.
  const euros = 3 + below(hash3(seed, 102, index), h % 17 === 0 ? 1500 : 90);
  const listPrice = euros * 100 + pick([95, 99, 49, 0, 50], h >>> 22);
  const inclCents = [100, 95, 90, 80].map((part) => Math.floor((listPrice * part) / 100));
  return {
    index,
    ean: eanOf(seed, 103, index),
    productId: `9300000${String(index * 7919 + below(hash3(seed, 104, index), 7919)).padStart(9, '0')}`,
    title,
    group: kind,
    chunkName: index % 97 === 13 ? undefined : kind.name,
    inclCents,
    exclCents: inclCents.map((cents) => withoutVat(cents, kind.vatPercent)),
  };
}

export interface Catalogue {
  readonly products: readonly Product[];
  readonly byEan: ReadonlyMap<string, Product>;
  /** Cents, by slot (product × PRICES + price); flat, because every order item looks here. */
  readonly exclCents: Float64Array;
  readonly inclCents: Float64Array;
  /** Hundredths of a percent, by product. */
  readonly percentage: Int32Array;
  /** Cents, by slot × (MAX_QUANTITY + 1) + quantity. */
  readonly commissionCents: Float64Array;
}

let last: { readonly seed: number; readonly catalogue: Catalogue } | undefined;

/** The catalogue of a seed. The last one is kept, since a test run starts hundreds of sandboxes with one seed. */
export function catalogueOf(seed: number): Catalogue {
  if (last?.seed !== seed) last = { seed, catalogue: makeCatalogue(seed) };
  return last.catalogue;
}

function makeCatalogue(seed: number): Catalogue {
  const products = Array.from({ length: PRODUCTS }, (_, index) => makeProduct(seed, index));
  const exclCents = Float64Array.from(products.flatMap((p) => p.exclCents));
  const inclCents = Float64Array.from(products.flatMap((p) => p.inclCents));
  const percentage = Int32Array.from(products, (p) => p.group.percentage);
  const commissionCents = new Float64Array(exclCents.length * (MAX_QUANTITY + 1));
  for (let slot = 0; slot < exclCents.length; slot++)
    for (let quantity = 1; quantity <= MAX_QUANTITY; quantity++)
      commissionCents[slot * (MAX_QUANTITY + 1) + quantity] = commissionOf(
        exclCents[slot]!,
        quantity,
        percentage[Math.floor(slot / PRICES)]!,
      );
  const byEan = new Map(products.map((p) => [p.ean, p]));
  return { products, byEan, exclCents, inclCents, percentage, commissionCents };
}
