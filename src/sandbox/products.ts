/** Endpoint 2: a product of the catalogue, for a country and in a language. */
import { type Answer, badRequest, type Call, json, notFound, problem } from './call.ts';
import { isEan, type Product } from './catalogue.ts';
import { below, hash2, hash3 } from './hash.ts';
import type { Json } from './json-text.ts';
import { money } from './rows.ts';
import type { World } from './world.ts';

const COUNTRIES = ['NL', 'BE'];
const LANGUAGES = ['nl', 'fr', 'nl-nl', 'nl-be', 'fr-be'];
type Language = 'nl' | 'fr';

/** Nearly everything is sold in the Netherlands, most of it in Belgium too. */
function isOffered(world: World, product: Product, country: string): boolean {
  const h = hash3(world.seed, 401, product.index);
  return country === 'NL' ? below(h, 40) > 0 : below(h >>> 8, 7) > 0;
}

function description(product: Product, language: Language): string {
  return language === 'nl'
    ? `<p>${product.title}: goed voor elke dag. Niet tevreden? Geld terug.</p>`
    : `<p>${product.title} : pour tous les jours. Pas satisfait ? Remboursé.</p>`;
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
  return {
    price: money(product.inclCents[reduced ? 2 : 0]!),
    strikethroughPrice: reduced ? money(product.inclCents[0]!) : undefined,
    deliveryDescription: 'Op voorraad. Voor 23:59 uur besteld, morgen in huis',
  };
}

function productJson(world: World, product: Product, language: Language, call: Call): Json {
  const asked = (name: string) => call.query.get(`include-${name}`) === 'true';
  const { ean, productId, title, group } = product;
  const tenths = 25 + below(hash3(world.seed, 403, product.index), 26);
  return {
    ean,
    bolProductId: productId,
    title,
    description: description(product, language),
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

/** 200; 400 for a bad country or EAN, 404 for what is unknown or not offered there, 406 for an unsupported language. */
export function productAnswer(world: World, call: Call): Answer {
  const country = call.query.get('country-code');
  if (country === null || !COUNTRIES.includes(country))
    return badRequest(call, [{ name: 'country-code', reason: `must be one of ${COUNTRIES.join(', ')}` }]);
  const ean = call.parameters.ean ?? '';
  if (!isEan(ean)) return badRequest(call, [{ name: 'ean', reason: `Request contains invalid value(s): '${ean}'.` }]);
  const language = (call.headers['accept-language'] ?? 'nl').toLowerCase();
  if (!LANGUAGES.includes(language))
    return problem(call, 406, 'Not Acceptable', `Accept-Language "${language}" is not supported.`);
  const product = world.catalogue.byEan.get(ean);
  if (product === undefined || !isOffered(world, product, country))
    return notFound(call, `No offer for product ${ean} in ${country}.`);
  return json(200, productJson(world, product, language.startsWith('fr') ? 'fr' : 'nl', call));
}
