/** Endpoint 2: a product of the catalogue, for a country and in a language. */
import { EtlError } from '../../core/errors.ts';
import type { CallFaults } from '../faults/kinds.ts';
import { below, hash2, hash3 } from '../hash.ts';
import { type Answer, badRequest, type Call, JSON_TYPE, notFound, problem } from '../http/call.ts';
import { type Json, jsonText, type Plain, plain } from '../http/json-text.ts';
import { lookupBody } from '../http/lookup-body.ts';
import { money } from '../orders/rows.ts';
import type { World } from '../world.ts';
import { isEan, type Product } from './catalogue.ts';

export const COUNTRIES = ['NL', 'BE'];
const LANGUAGES = ['nl', 'fr', 'nl-nl', 'nl-be', 'fr-be'];
type Language = 'nl' | 'fr';

export type ProductTruth = Readonly<Record<string, Plain>>;

/** Nearly everything is sold in the Netherlands, most of it in Belgium too. */
function isOffered(world: World, product: Product, country: string): boolean {
  const offered = world.eans.of(product.ean)?.offered?.[country];
  if (offered !== undefined) return offered;
  const h = hash3(world.seed, 401, product.index);
  return country === 'NL' ? below(h, 40) > 0 : below(h >>> 8, 7) > 0;
}

function description(title: string, language: Language): string {
  return language === 'nl'
    ? `<p>${title}: goed voor elke dag. Niet tevreden? Geld terug.</p>`
    : `<p>${title} : pour tous les jours. Pas satisfait ? Remboursé.</p>`;
}

/** `values` is an array in live data and a text in the published sample; here one product in eight has texts. */
function specifications(world: World, product: Product, language: Language): Json {
  const asText = below(hash2(world.seed, product.index), 8) === 0;
  const values = (...texts: string[]): Json => (asText ? texts.join(', ') : texts);
  const names =
    language === 'nl' ? ['Kenmerken', 'Kleur', 'Artikelnummer'] : ['Caractéristiques', 'Couleur', 'Référence'];
  return [
    {
      title: names[0]!,
      specifications: [
        { key: 'COLOUR', name: names[1]!, values: values('zwart', 'grijs') },
        { key: 'MPN', name: names[2]!, values: values(`MPN-${product.productId.slice(-6)}`) },
      ],
    },
  ];
}

function image(product: Product): Json {
  const url = `https://media.example.org/${product.productId}/550x550.jpg`;
  return { mimeType: 'image/jpeg', width: 550, height: 550, url };
}

function offer(world: World, product: Product): Json {
  const reduced = below(hash3(world.seed, 402, product.index), 3) === 0;
  const edit = world.eans.of(product.ean)?.offer;
  const usualCents = reduced ? product.inclCents[0]! : null;
  const struckCents = edit?.strikethroughCents === undefined ? usualCents : edit.strikethroughCents;
  return {
    price: money(edit?.priceCents ?? product.inclCents[reduced ? 2 : 0]!),
    strikethroughPrice: struckCents === null ? undefined : money(struckCents),
    deliveryDescription: edit?.deliveryDescription ?? 'Op voorraad. Voor 23:59 uur besteld, morgen in huis',
  };
}

type Part = 'image' | 'rating' | 'offer' | 'specifications';

function productJson(world: World, product: Product, language: Language, asked: (part: Part) => boolean): Json {
  const { ean, productId, group } = product;
  const title = world.eans.of(ean)?.title ?? product.title;
  const tenths = 25 + below(hash3(world.seed, 403, product.index), 26);
  return {
    ean,
    bolProductId: productId,
    title,
    description: description(title, language),
    url: `https://www.example.org/${language}/p/${productId}/`,
    image: asked('image') ? image(product) : undefined,
    rating: asked('rating') ? tenths / 10 : undefined,
    offer: asked('offer') ? offer(world, product) : undefined,
    gpc: [
      { level: 'SEGMENT', name: group.name },
      { level: 'BRICK', name: group.nouns[0]! },
    ],
    specificationGroups: asked('specifications') ? specifications(world, product, language) : undefined,
  };
}

/** The product where it is offered; undefined for what is unknown, or not offered in the country. */
function offeredProduct(world: World, ean: string, country: string): Product | undefined {
  const product = world.catalogue.byEan.get(ean);
  return product !== undefined && isOffered(world, product, country) ? product : undefined;
}

function languageOf(text: string): Language | undefined {
  if (!LANGUAGES.includes(text.toLowerCase())) return undefined;
  return text.toLowerCase().startsWith('fr') ? 'fr' : 'nl';
}

/** 200; 400 for a bad country or EAN, 404 for what is unknown or not offered there, 406 for an unsupported language. */
export function productAnswer(world: World, call: Call, faults: CallFaults): Answer {
  const country = call.query.get('country-code');
  if (country === null || !COUNTRIES.includes(country))
    return badRequest(call, [{ name: 'country-code', reason: `must be one of ${COUNTRIES.join(', ')}` }]);
  const ean = call.parameters.ean ?? '';
  if (!isEan(ean)) return badRequest(call, [{ name: 'ean', reason: `Request contains invalid value(s): '${ean}'.` }]);
  const accepted = call.headers['accept-language'] ?? 'nl';
  const language = languageOf(accepted);
  if (language === undefined)
    return problem(call, 406, 'Not Acceptable', `Accept-Language "${accepted}" is not supported.`);
  const product = offeredProduct(world, ean, country);
  if (product === undefined) return notFound(call, `No offer for product ${ean} in ${country}.`);
  const asked = (part: Part) => call.query.get(`include-${part}`) === 'true';
  const record = { ean, text: jsonText(productJson(world, product, language, asked)) };
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body: lookupBody('product', [record], faults) };
}

/**
 * The truth of a product, with all parts that can be asked for and amounts as decimal text; undefined where the answer is
 * 404. Refuses (usage) a country or language that the service does not have.
 */
export function productTruth(world: World, ean: string, country: string, language: string): ProductTruth | undefined {
  const known = languageOf(language);
  if (known === undefined || !COUNTRIES.includes(country))
    throw new EtlError('usage', 'bad_control', `there are no products in ${country} and "${language}"`, {
      hint: `a country of ${COUNTRIES.join(', ')} and a language of ${LANGUAGES.join(', ')}`,
    });
  const product = offeredProduct(world, ean, country);
  return product && (plain(productJson(world, product, known, () => true)) as ProductTruth);
}
