import { describe, expect, test } from 'vitest';
import { catalogueOf } from '../../../src/sandbox/catalogue/catalogue.ts';
import { openSandbox } from './client.ts';

const { products } = catalogueOf(1);
const EAN = products[0]!.ean;
const UNKNOWN_EAN = '8712626055143';

describe('a product', () => {
  const path = (ean: string, query = 'country-code=NL') => `/marketing/catalog/v1/products/${ean}?${query}`;
  const ALL = 'country-code=NL&include-specifications=true&include-image=true&include-offer=true&include-rating=true';

  test('has what is asked for, in the language that is asked for', async () => {
    const { call } = await openSandbox();
    const bare = JSON.parse((await call(path(EAN), { headers: { 'accept-language': 'nl' } })).text);
    expect(Object.keys(bare)).toEqual(['ean', 'bolProductId', 'title', 'description', 'url', 'gpc']);
    expect(bare).toMatchObject({ ean: EAN, bolProductId: products[0]!.productId, title: products[0]!.title });
    const full = JSON.parse((await call(path(EAN, ALL), { headers: { 'accept-language': 'fr-BE' } })).text);
    expect(full).toMatchObject({
      image: { mimeType: 'image/jpeg', width: 550, height: 550, url: expect.any(String) },
      rating: expect.any(Number),
      offer: { price: expect.any(Number), deliveryDescription: expect.any(String) },
      specificationGroups: [{ title: 'Caractéristiques', specifications: expect.any(Array) }],
    });
    expect(full.description).toContain('pour tous les jours');
  });

  test('has values as lists, and on some products as text', async () => {
    const { call } = await openSandbox({ limits: { calls: { product: { calls: 1000, seconds: 1 } } } });
    const kinds = new Set<string>();
    for (const { ean } of products.slice(0, 40)) {
      const reply = await call(path(ean, ALL));
      if (reply.status !== 200) continue;
      const { values } = JSON.parse(reply.text).specificationGroups[0].specifications[0];
      kinds.add(Array.isArray(values) ? 'list' : typeof values);
    }
    expect(kinds).toEqual(new Set(['list', 'string']));
  });

  test.each([
    ['an unknown EAN', path(UNKNOWN_EAN), 'nl', 404],
    ['what is no EAN', path('123'), 'nl', 400],
    ['no country', path(EAN, ''), 'nl', 400],
    ['another country', path(EAN, 'country-code=DE'), 'nl', 400],
    ['another language', path(EAN), 'de', 406],
  ])('is refused for %s', async (_, where, language, status) => {
    const { call } = await openSandbox();
    const reply = await call(where, { headers: { 'accept-language': language } });
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text)).toMatchObject({ type: '/problems', status });
  });

  test('may be offered in one country and not in the other', async () => {
    const { call } = await openSandbox({ limits: { calls: { product: { calls: 1000, seconds: 1 } } } });
    const statuses = new Set<string>();
    for (const { ean } of products.slice(0, 30))
      statuses.add(`${(await call(path(ean))).status} ${(await call(path(ean, 'country-code=BE'))).status}`);
    expect(statuses.has('200 404')).toBe(true);
    expect(statuses.has('200 200')).toBe(true);
  });
});
