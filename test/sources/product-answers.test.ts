import { describe, expect, test } from 'vitest';
import { products } from '../../pipelines/products.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { answerOf } from '../extract/lookup-scene.ts';
import { NO_COUNTS, readAnswers, typedRows } from './reading.ts';

const A = '8712626055143';
const B = '0604020064587';

type Told = readonly [ean: string, body: unknown, fields?: Partial<FetchRecord>];

const linesOf = (...answers: Told[]) =>
  readAnswers(
    products,
    [],
    answers.map(([ean, body, fields]) =>
      answerOf({ ean, country: 'NL', language: 'nl' }, body, { pipeline: 'products', ...fields }),
    ),
  );

const FULL = `{ "ean":"${A}","bolProductId":"9200000123","title":"Lamp","description":"<p>é</p>","url":"https://www.example.org/p/1/",
  "image":{"url":"https://media.example.org/1.jpg","mimeType":"image/jpeg","width":550,"height":540},"rating":4.5,
  "offer":{"price":12.10,"strikethroughPrice":15.00,"deliveryDescription":"morgen"},
  "gpc":[{"name":"Home","level":"SEGMENT"}],
  "specificationGroups":[{"title":"Features","specifications":[{"key":"A","values":"zwart"},{"key":"B","values":["x","y"]},{"key":"C"}]}]}`;

describe('a product', () => {
  test('becomes a line with what is inside of it as fields, and the whole record', async () => {
    const { lines, counts, drift } = await linesOf([A, FULL, { fetch_id: 'f7' }]);
    expect(lines).toEqual([
      {
        _i: '0',
        _f: 'f7',
        ean: A,
        country: 'NL',
        language: 'nl',
        observedOn: '2026-03-20',
        observedFrom: '2026-03-20T02:00:00.123Z',
        outcome: 'found',
        bolProductId: '9200000123',
        title: 'Lamp',
        description: '<p>é</p>',
        url: 'https://www.example.org/p/1/',
        'image.url': 'https://media.example.org/1.jpg',
        'image.mimeType': 'image/jpeg',
        'image.width': '550',
        'image.height': '540',
        rating: '4.5',
        'offer.price': '12.10',
        'offer.strikethroughPrice': '15.00',
        'offer.deliveryDescription': 'morgen',
        gpc: '[{"level":"SEGMENT","name":"Home"}]',
        specificationGroups:
          '[{"specifications":[{"key":"A","values":["zwart"]},{"key":"B","values":["x","y"]},{"key":"C"}],"title":"Features"}]',
        payload: expect.stringMatching(/^\{"bolProductId":"9200000123","description":.*"values":"zwart".*\}$/),
        _raw: FULL,
      },
    ]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 1, records: 1, found: 1 });
    expect(drift).toEqual([]);
  });

  test('has the same payload and fields whatever the order of members', async () => {
    const { lines } = await linesOf(
      [A, '{"title":"x","offer":{"price":1.0,"deliveryDescription":"d"}}'],
      [A, '{"offer":{"deliveryDescription":"d","price":1.0},"title":"x"}'],
    );
    const [first, second] = lines.map(({ _i, _n, _raw, ...rest }) => rest);
    expect(first).toEqual(second);
  });

  test('may leave everything out, also its EAN', async () => {
    const { lines } = await linesOf([A, '{}'], [B, `{"ean":604020064587,"image":null,"gpc":null}`]);
    expect(lines).toMatchObject([
      { ean: A, outcome: 'found', payload: '{}' },
      { ean: B, outcome: 'found' },
    ]);
    expect(lines[0]).not.toHaveProperty('title');
  });

  test.each([
    [
      'unknown members, also inside of it',
      '{"brand":{"b":1,"a":2},"offer":{"price":1,"seller":"x"}}',
      { 'offer.price': '1', _x: '{"brand":{"a":2,"b":1},"offer.seller":"x"}' },
    ],
    ['a price that is no number', '{"offer":{"price":"cheap"}}', { _b: 'bad_number:offer.price' }],
    ['a price as text', '{"offer":{"price":"1.20"}}', { 'offer.price': '1.20' }],
    ['an image that is a text', '{"image":"x.jpg"}', { _b: 'bad_object:image' }],
    ['a classification that is no list', '{"gpc":{"level":"x"}}', { _b: 'bad_list:gpc' }],
    [
      'groups that are no list, and a title that is one',
      '{"title":[],"specificationGroups":1}',
      { _b: 'bad_text:title' },
    ],
    [
      'odd groups',
      '{"specificationGroups":[1,{"specifications":[2,{"values":null},{"values":3}]}]}',
      { specificationGroups: '[1,{"specifications":[2,{"values":null},{"values":[3]}]}]' },
    ],
    ['a number for a text', '{"bolProductId":9200000123}', { bolProductId: '9200000123' }],
  ])('with %s', async (_, body, fields) => {
    const { lines } = await linesOf([A, body]);
    const { _i, _f, ean, country, language, observedOn, observedFrom, outcome, payload, _raw, ...others } = lines[0]!;
    expect(others).toEqual(fields);
  });

  test('differences from the contract are told', async () => {
    const { drift } = await linesOf([A, `{"ean":${A},"x":"\\u0000","offer":{"price":"1","y":2},"bolProductId":3}`]);
    expect(drift.map(({ kind, field, count, example }) => `${kind} ${field} ${count} ${example}`).sort()).toEqual([
      'nul_removed x 1 ',
      'number_as_text offer.price 1 1',
      `text_as_number bolProductId 1 3`,
      `text_as_number ean 1 ${A}`,
      'unknown_field offer.y 1 2',
      'unknown_field x 1 ""',
    ]);
  });

  test.each([
    ['of another EAN', `{"ean":"${B}"}`, 'other_ean', `ean = ${B}, not ${A}`],
    ['whose EAN is no text', '{"ean":{}}', 'bad_text', 'ean'],
  ])('%s is a reject', async (_, body, reason, detail) => {
    const { rejectLines, counts } = await linesOf([A, body, { fetch_id: 'f3' }]);
    expect(rejectLines).toEqual([{ fetch_id: 'f3', item: 0, day: '2026-03-20', reason, detail, raw: body }]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 1, records: 1, rejects: 1, rejectedKeys: 1 });
  });
});

describe('no product', () => {
  test.each([
    [
      404,
      { title: 'Not Found', detail: 'No offer', instance: '/x/1', timestamp: '2026-03-20' },
      'not_found',
      'Not Found; No offer',
    ],
    [
      400,
      { title: 'Bad Request', violations: [{ name: 'country-code', reason: 'must be NL' }] },
      'bad_request',
      'Bad Request; country-code: must be NL',
    ],
    [406, '', 'not_acceptable', 'HTTP 406'],
  ])('%i is an outcome with its reason', async (status, body, outcome, reason) => {
    const { lines, counts } = await linesOf([A, body, { status }]);
    expect(lines).toMatchObject([{ ean: A, outcome, reason }]);
    expect(counts).toEqual({ ...NO_COUNTS, keys: 1, refused: 1 });
  });

  test.each([
    ['<html>', 'not_json'],
    ['[]', 'not_an_object'],
    ['null', 'not_an_object'],
  ])('%s fails as %s', async (body, code) => {
    await expect(linesOf([A, body])).rejects.toMatchObject({ kind: 'failed', code });
  });
});

test('the lines are typed as the declaration says, and fill every column of it', async () => {
  const out = await linesOf([A, FULL], [B, 'gone', { status: 404 }], [B, '{"image":{"width":5.5}}']);
  const rows = await typedRows(out.folder, products, out.rows, '*');
  expect(rows.map((row) => [String(row.offer_price), String(row.image_width), row.rating, row._reject])).toEqual([
    ['12.100000', '550', 4.5, null],
    ['null', 'null', null, null],
    ['null', 'null', null, expect.stringMatching(/^bad_number/)],
  ]);
  const keys = new Set(out.lines.flatMap(Object.keys).filter((key) => !key.startsWith('_')));
  expect(keys).toEqual(new Set(products.columns.map(({ field }) => field)));
});
