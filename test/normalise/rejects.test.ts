import { beforeAll, describe, expect, it } from 'vitest';
import { orders } from '../../pipelines/orders.ts';
import type { Day } from '../../src/core/days.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { normaliseText, type Outcome } from '../support/normalise.ts';

const [first, second] = ['2026-03-01', '2026-03-02'] as [Day, Day];
const range = { from: first, to: second };

/** More than two of the pages in which rejects are asked for. */
const ITEMS = 81_000;

/** Rows, and what the splitter and the typing refuse, in turns that fall on every border differently. */
function item(i: number): {
  readonly raw: string;
  readonly day: Day;
  readonly reason: string | null;
  readonly detail?: RegExp;
} {
  if (i % 20_000 === 7)
    return {
      raw: `{"orderDate":"${second}","orderId":"${i}","orderItemId":"1"}`,
      day: second,
      reason: null,
    };
  if (i % 7 === 3) return { raw: `${i}`, day: first, reason: 'not_an_object' };
  if (i % 1000 === 500)
    return {
      raw: `{"orderDate":"${second}","orderId":"${i}","orderItemId":"é","quantity":"${'x'.repeat(1500)}"}`,
      day: second,
      reason: 'bad_number',
      detail: /^quantity/,
    };
  return { raw: '{}', day: first, reason: 'missing_field' };
}

describe('an answer of far more rejects than rows', () => {
  const items = Array.from({ length: ITEMS }, (_, i) => item(i));
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await normaliseText(orders, `{"items":[${items.map(({ raw }) => raw).join(',')}]}`, range);
  }, 60_000);

  it('is counted to the last item, by day', () => {
    const rejects = items.filter(({ reason }) => reason !== null);
    expect([outcome.rows, outcome.rejects, outcome.duplicates]).toEqual([ITEMS - rejects.length, rejects.length, 0]);
    const onDay = (day: Day) => rejects.filter((reject) => reject.day === day).length;
    expect(outcome.slices.map(({ content }) => content.rejects)).toEqual([onDay(first), onDay(second)]);
  });

  it.each([first, second])('has the rejects of %s in the order of the answer, each with its own raw text', (day) => {
    const expected = items.flatMap(({ raw, reason, ...of }, i) =>
      reason !== null && of.day === day ? [[i, reason, raw]] : [],
    );
    const found = outcome.rejected.filter((reject) => reject.slice_day === day);
    expect(found.map((reject) => [reject.item, reject.reason, reject.raw])).toEqual(expected);
    expect(found.every(({ item: at, detail }) => items[at]?.detail?.test(detail) ?? true)).toBe(true);
  });
});

it('long raw texts are cut at their limit, wherever they stand between short ones', async () => {
  const long = `{"orderDate":"${first}","quantity":"${'y'.repeat(2 * LIMITS.rejectRawBytes)}"}`;
  const items = ['1', long, '{}', long, '2'];
  const { rejected } = await normaliseText(orders, `{"items":[${items.join(', \n')}]}`, range);
  expect(rejected.map(({ item: at, raw }) => [at, raw])).toEqual(
    items.map((raw, i) => [i, raw.slice(0, LIMITS.rejectRawBytes)]),
  );
});
