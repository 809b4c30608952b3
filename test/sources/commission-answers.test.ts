import { describe, expect, test } from 'vitest';
import { commissionRates, commissionReductions } from '../../pipelines/commission-rates.ts';
import { LIMITS } from '../../src/core/limits.ts';
import type { FetchRecord } from '../../src/core/records.ts';
import { answerOf } from '../extract/lookup-scene.ts';
import { NO_COUNTS, openReader, readAnswers, typedRows } from './reading.ts';

const A = '8712626055143';
const B = '0604020064587';
const C = '8804269223123';
const NONE = NO_COUNTS;

type Told = readonly [asked: unknown, body: unknown, fields?: Partial<FetchRecord>];

const linesOf = (...answers: Told[]) =>
  readAnswers(
    commissionRates,
    [commissionReductions],
    answers.map((answer) => answerOf(...answer)),
  );

const asked = (...eans: string[]) => eans.map((ean) => ({ ean, condition: 'NEW', price: null }));
const record = (ean: string, rest = '') => `{"ean":"${ean}","condition":"NEW","percentage":15${rest}}`;
const body = (...records: string[]) => `{"commissions":[${records.join(',')}]}`;

describe('a found commission', () => {
  test('becomes a line with every digit as sent, its boundaries lines of their own', async () => {
    const sent = `{ "ean":"${A}","condition":"NEW","unitPrice":12345678901.234500,"fixedAmount":0.99,"percentage":15.0,"totalCost":3.82,
      "totalCostWithoutReduction":4.74,"reductions":[{"maximumPrice":25.99,"costReduction":0.920,"startDate":"2018-04-25","endDate":"2018-05-15"},{"maximumPrice":20}]}`;
    const out = await linesOf([
      [{ ean: A, condition: 'NEW', price: '12345678901.2345' }],
      body(sent),
      { fetch_id: 'f7', finished_at: '2026-03-20T23:30:00.123Z' },
    ]);
    const named = {
      _f: 'f7',
      ean: A,
      condition: 'NEW',
      price: '12345678901.2345',
      observedOn: '2026-03-21',
      observedFrom: '2026-03-20T23:30:00.123Z',
    };
    expect(out.lines).toEqual([
      {
        ...named,
        _i: '0',
        outcome: 'found',
        unitPrice: '12345678901.234500',
        fixedAmount: '0.99',
        percentage: '15.0',
        totalCost: '3.82',
        totalCostWithoutReduction: '4.74',
        reductions:
          '[{"costReduction":0.920,"endDate":"2018-05-15","maximumPrice":25.99,"startDate":"2018-04-25"},{"maximumPrice":20}]',
        _raw: sent,
      },
    ]);
    expect(out.childLines).toEqual([
      {
        ...named,
        _i: '0',
        _p: '0',
        position: '0',
        maximumPrice: '25.99',
        costReduction: '0.920',
        startDate: '2018-04-25',
        endDate: '2018-05-15',
        _raw: '{"costReduction":0.920,"endDate":"2018-05-15","maximumPrice":25.99,"startDate":"2018-04-25"}',
      },
      { ...named, _i: '1', _p: '0', position: '1', maximumPrice: '20', _raw: '{"maximumPrice":20}' },
    ]);
    expect(out.counts).toEqual({ ...NONE, keys: 1, records: 1, found: 1 });
    expect(out.drift).toEqual([]);
  });

  test.each([
    ['price of version 3', ',"price":7.5', { unitPrice: '7.5' }],
    ['a number as text', ',"totalCost":"3.10"', { totalCost: '3.10' }],
    ['null as absent', ',"totalCost":null,"reductions":null', {}],
    ['no boundaries', ',"reductions":[]', {}],
    [
      'an unknown member',
      ',"tax":{"b":1.10,"a":"x"},"price":1,"unitPrice":2',
      { unitPrice: '2', _x: '{"price":1,"tax":{"a":"x","b":1.10}}' },
    ],
    ['a text that is no number', ',"totalCost":"about 3"', { _b: 'bad_number:totalCost' }],
    ['a boolean for a number', ',"totalCost":true,"fixedAmount":{}', { _b: 'bad_number:fixedAmount' }],
    ['boundaries that are no list', ',"reductions":{"maximumPrice":1}', { _b: 'bad_list:reductions' }],
  ])('%s', async (_, rest, fields) => {
    const { lines, counts } = await linesOf([asked(A), body(record(A, rest))]);
    const { _i, _f, ean, condition, observedOn, observedFrom, outcome, percentage, _raw, ...others } = lines[0]!;
    expect(others).toEqual(fields);
    expect(counts).toEqual({ ...NONE, keys: 1, records: 1, found: 1 });
  });

  test('differences from the contract are counted once for each kind and field', async () => {
    const { drift } = await linesOf(
      [asked(A, B), body(record(A, ',"tax":1,"totalCost":"1"'), record(B, ',"tax":2,"note\\u0000":"\\ud800"'))],
      [asked(C), body(record(C, ',"tax":3,"reductions":[{"label":"x"}]')), { fetch_id: 'f2' }],
      [asked(A), `{"commissions":[{"ean":${A},"percentage":1}],"total":1}`, { fetch_id: 'f3' }],
    );
    const told = drift.map(({ pipeline, fetch_id, kind, field, count, example }) =>
      [pipeline, fetch_id === 'f3' ? 3 : fetch_id === 'f2' ? 2 : 1, kind, field, count, example].join(' '),
    );
    expect(told.sort()).toEqual([
      'commission-rates 1 lone_surrogate note 1 ',
      'commission-rates 1 nul_removed commissions 1 ',
      'commission-rates 1 number_as_text totalCost 1 1',
      'commission-rates 1 unknown_field note 1 "\ufffd"',
      'commission-rates 1 unknown_field tax 3 1',
      `commission-rates 3 text_as_number ean 1 ${A}`,
      'commission-rates 3 unknown_member total 1 1',
      'commission-reductions 2 unknown_field label 1 "x"',
    ]);
  });

  test('an EAN that came as a number finds its question without its leading zeros', async () => {
    const { lines } = await linesOf([asked(B), body(`{"ean":604020064587,"percentage":1}`)]);
    expect(lines).toMatchObject([{ ean: B, outcome: 'found' }]);
  });
});

describe('what was asked', () => {
  test('and is missing from the answer becomes not_found', async () => {
    const { lines, counts } = await linesOf([asked(A, B, C), body(record(B))]);
    expect(lines.map(({ _i, ean, outcome }) => [_i, ean, outcome])).toEqual([
      ['0', B, 'found'],
      ['1', A, 'not_found'],
      ['2', C, 'not_found'],
    ]);
    expect(counts).toEqual({ ...NONE, keys: 3, records: 1, found: 1, missing: 2 });
  });

  test('and was refused becomes refused with the reason; what the refusal says nothing of stays open', async () => {
    const violations = [{ name: 'ean', reason: `invalid '${B}'` }];
    const refusal = { status: 400 };
    const { lines, counts } = await linesOf(
      [asked(A, B, C), { title: 'Bad', violations }, refusal],
      [asked(A, C), '<h1>no</h1>', refusal],
      [asked(C), '<h1>no</h1>', { status: 404 }],
      [asked(A), body(record(A))],
    );
    expect(lines.map(({ ean, outcome, reason }) => [ean, outcome, reason])).toEqual([
      [B, 'refused', `invalid '${B}'`],
      [C, 'refused', 'no'],
      [A, 'found', undefined],
    ]);
    expect(counts).toEqual({ ...NONE, keys: 7, records: 1, found: 1, refused: 2, open: 4 });
  });
});

describe('a record becomes a reject', () => {
  test.each([
    ['that is no object', '7', 'not_an_object', 'the record is a number', { missing: 2 }],
    ['without an EAN', '{"percentage":1}', 'missing_field', 'ean', { missing: 2 }],
    ['whose EAN is neither text nor number', '{"ean":[1]}', 'bad_text', 'ean', { missing: 2 }],
    ['that was not asked for', record(C), 'not_asked', `ean = ${C}`, { missing: 2 }],
    [
      'of another condition',
      `{"ean":"${A}","condition":"GOOD"}`,
      'other_condition',
      'condition = "GOOD", not NEW',
      { missing: 1, rejectedKeys: 1 },
    ],
  ])('%s', async (_, sent, reason, detail, rest) => {
    const { rejectLines, counts } = await linesOf([asked(A, B), body(` ${sent} `), { fetch_id: 'f5' }]);
    expect(rejectLines).toEqual([{ fetch_id: 'f5', item: 0, day: '2026-03-20', reason, detail, raw: sent }]);
    expect(counts).toEqual({ ...NONE, keys: 2, records: 1, rejects: 1, ...rest });
  });

  test('has its place in its own answer, whatever was taken before', async () => {
    const reductions = ',"reductions":[{"maximumPrice":1},{"maximumPrice":2}]';
    const answers: Told[] = ['f1', 'f2'].map((fetch_id) => [
      asked(A, B),
      body('7', record(A, reductions), record(C)),
      { fetch_id },
    ]);
    const { lines, childLines, rejectLines } = await linesOf(...answers);
    const places = (lines: Record<string, string>[]) => lines.map(({ _f, _i, _n = _i }) => [_f, _i, _n]);
    expect(rejectLines.map(({ fetch_id, item }) => [fetch_id, item])).toEqual([
      ['f1', 0],
      ['f1', 1],
      ['f2', 0],
      ['f2', 1],
    ]);
    expect(places(lines)).toEqual([
      ['f1', '2', '2'],
      ['f1', '3', '3'],
      ['f2', '6', '2'],
      ['f2', '7', '3'],
    ]);
    expect(places(childLines)).toEqual([
      ['f1', '0', '0'],
      ['f1', '1', '1'],
      ['f2', '2', '0'],
      ['f2', '3', '1'],
    ]);
  });

  test('when another of its EAN comes later and differs; equal ones are duplicates', async () => {
    const again = `{"percentage":15, "condition":"NEW","ean":"${A}"}`;
    const other = record(B).replace('15', '16');
    const { lines, rejectLines, counts } = await linesOf([asked(A, B), body(record(A), record(B), again, other)]);
    expect(lines.map(({ ean, percentage }) => [ean, percentage])).toEqual([
      [A, '15'],
      [B, '16'],
    ]);
    expect(rejectLines).toMatchObject([{ reason: 'conflicting_key', detail: `ean = ${B}`, raw: record(B) }]);
    expect(counts).toEqual({ ...NONE, keys: 2, records: 4, found: 2, rejects: 1, duplicates: 1 });
  });

  test.each([
    ['x', 0],
    ['xx', 1],
  ])('with its text cut to the limit, before a character that reaches beyond it (%s)', async (start, short) => {
    const { rejectLines } = await linesOf([asked(A), body(`{"note":"${start}${'é'.repeat(LIMITS.rejectRawBytes)}"}`)]);
    const { raw } = rejectLines[0]!;
    expect(Buffer.byteLength(raw!)).toBe(LIMITS.rejectRawBytes - short);
    expect(raw).toMatch(/é$/);
  });
});

describe('an answer that is no such document', () => {
  test.each([
    ['<html>', 'not_json'],
    ['{"commissions":[', 'not_json'],
    ['[]', 'not_an_object'],
    ['{}', 'no_commissions'],
    ['{"commissions":null}', 'no_commissions'],
    ['{"commissions":{}}', 'no_commissions'],
  ])('%s fails as %s and leaves no line', async (text, code) => {
    const { reader } = await openReader(commissionRates, [commissionReductions]);
    await expect(reader.take(answerOf(asked(A), text))).rejects.toMatchObject({ kind: 'failed', code });
    expect(await reader.close()).toMatchObject({ rows: { lines: 0 }, rejects: { lines: 0 } });
    expect(reader.counts).toEqual(NONE);
  });

  test('nor does one whose questions are none', async () => {
    await expect(linesOf([{ ean: A }, body()])).rejects.toMatchObject({ code: 'damaged_answer' });
    await expect(linesOf([[{ ean: A, condition: 'NEW', price: 1 }], body()])).rejects.toMatchObject({
      code: 'damaged_answer',
    });
  });
});

test('the lines are typed as the declarations say, and what is of the wrong type is a reject', async () => {
  const out = await linesOf(
    [
      [{ ean: A, condition: 'NEW', price: '0.1' }, ...asked(B, C)],
      body(
        record(A, ',"totalCost":1.005,"reductions":[{"maximumPrice":2,"startDate":"2026-01-01"},7]'),
        record(B, ',"reductions":[{"maximumPrice":2.5,"endDate":"2026-01-01"}],"é":"😀"'),
      ),
    ],
    [asked(C), 'gone', { status: 404 }],
  );
  const rates = await typedRows(out.folder, commissionRates, out.rows, '*');
  expect(rates.map((row) => [row.ean, row.outcome, String(row.asked_price), row.extra, row._reject])).toEqual([
    [A, 'found', '0.100000', null, 'bad_list\u001freductions'],
    [B, 'found', 'null', '{"é":"😀"}', null],
    [C, 'not_found', 'null', null, null],
    [C, 'refused', 'null', null, null],
  ]);
  const reductions = await typedRows(out.folder, commissionReductions, out.children[0]!, '*');
  expect(
    reductions.map((row) => [row.ean, String(row.maximum_price), String(row.end_date), row._p, row._reject]),
  ).toEqual([
    [A, '2.000000', 'null', '0', null],
    [B, '2.500000', '2026-01-01', '1', null],
  ]);
});

test('every column of the declarations is filled by some line', async () => {
  const full = record(
    A,
    ',"unitPrice":1,"fixedAmount":1,"totalCost":1,"totalCostWithoutReduction":1,"reductions":[{"maximumPrice":1,"costReduction":1,"startDate":"2026-01-01","endDate":"2026-01-01"}]',
  );
  const { lines, childLines } = await linesOf(
    [[{ ean: A, condition: 'NEW', price: '1' }], body(full)],
    [asked(B), 'gone', { status: 404 }],
  );
  const keys = (lines: Record<string, string>[]) =>
    new Set(lines.flatMap(Object.keys).filter((key) => !key.startsWith('_')));
  expect(keys(lines)).toEqual(new Set(commissionRates.columns.map(({ field }) => field)));
  expect(keys(childLines)).toEqual(new Set(commissionReductions.columns.map(({ field }) => field)));
});
