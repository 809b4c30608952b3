import { beforeAll, describe, expect, it } from 'vitest';
import { orders } from '../../pipelines/orders.ts';
import { promotions } from '../../pipelines/promotions.ts';
import type { Day } from '../../src/core/days.ts';
import { normaliseText } from '../support/normalise.ts';

const day = '2026-03-01' as Day;
const range = { from: day, to: day };

/** One order item with some fields replaced by raw JSON text; `null` leaves a field out. */
function order(fields: Record<string, string | null> = {}): string {
  const all: Record<string, string | null> = {
    orderDate: '"2026-03-01"',
    orderId: '"1"',
    orderItemId: '"1"',
    ...fields,
  };
  const members = Object.entries(all).flatMap(([key, raw]) => (raw === null ? [] : [`${JSON.stringify(key)}:${raw}`]));
  return `{${members.join(',')}}`;
}

const answer = (...items: string[]) => `{"items":[${items.join(',')}]}`;

async function one(fields: Record<string, string | null>) {
  const outcome = await normaliseText(orders, answer(order(fields)), range);
  expect(outcome.rows + outcome.rejects).toBe(1);
  return {
    row: outcome.loaded[0],
    reject: outcome.rejected[0],
    drift: outcome.drift.map((d) => `${d.kind}:${d.field}`),
  };
}

type Fields = Record<string, string | null>;

/**
 * What comes of each of these items, by its number. All are one answer, since to take in one takes as long; those with an exponent are another,
 * as an answer that has one is read in another way.
 */
function together(items: readonly Fields[]) {
  const raws = items.map((fields, i) => order({ orderId: `"${i}"`, ...fields }));
  const numbers = raws.map((_, i) => i);
  const groups = [/\de[-+]?\d/i, /^(?!.*\de[-+]?\d)/i].map((kind) => numbers.filter((i) => kind.test(raws[i]!)));
  const outcomes = new Map<readonly number[], Awaited<ReturnType<typeof normaliseText>>>();
  beforeAll(async () => {
    for (const group of groups.filter(({ length }) => length > 0)) {
      const outcome = await normaliseText(orders, answer(...group.map((i) => raws[i]!)), range);
      expect(outcome.rows + outcome.rejects).toBe(group.length);
      outcomes.set(group, outcome);
    }
  });
  return {
    of: (i: number) => {
      const group = groups.find((numbers) => numbers.includes(i))!;
      const { loaded, rejected } = outcomes.get(group)!;
      return {
        row: loaded.find((row) => row.order_id === String(i)),
        reject: rejected.find(({ item }) => item === group.indexOf(i)),
        raw: raws[i],
      };
    },
    drifted: () => {
      const drift = [...outcomes.values()].flatMap((outcome) => outcome.drift);
      return {
        kinds: new Set(drift.map(({ kind, field }) => `${kind}:${field}`)),
        count: drift.reduce((sum, { count }) => sum + count, 0),
      };
    },
  };
}

/** A table of cases with the number of each. */
const numbered = <T extends readonly unknown[]>(cases: readonly T[]) => cases.map((one, i) => [...one, i] as const);

describe('money is the same decimal number as in the answer', () => {
  const stored: [string | null, string | null][] = [
    ['12.10', '12.100000'],
    ['0.1', '0.100000'],
    ['-0', '0.000000'],
    ['1e2', '100.000000'],
    ['1.5E+3', '1500.000000'],
    ['100000000000000000000e-20', '1.000000'],
    ['0.00000000000000000000000000000000000001e38', '1.000000'],
    ['0e999', '0.000000'],
    ['999999999999.999999', '999999999999.999999'],
    ['-999999999999.999999', '-999999999999.999999'],
    ['"12.10"', '12.100000'],
    ['null', null],
    [null, null],
  ];
  const storedTaken = together(stored.map(([raw]) => ({ priceExclVat: raw })));
  it.each(numbered(stored))('%s is stored as %s', (_, text, i) => {
    expect(storedTaken.of(i).row).toMatchObject({ price_excl_vat: text });
  });

  const rounded: [string, string][] = [
    ['0.1234565', '0.123457'],
    ['-0.1234565', '-0.123457'],
    ['0.30000000000000004', '0.300000'],
    ['1e-7', '0.000000'],
    ['4e-7', '0.000000'],
    ['5.684341886080802E-14', '0.000000'],
    ['8e-12', '0.000000'],
    ['0.1234564999999999999999999999999999999999', '0.123456'],
    ['1.0000000000000000000000000000000000000001', '1.000000'],
  ];
  const roundedTaken = together(rounded.map(([raw]) => ({ commission: raw })));
  it.each(numbered(rounded))(
    '%s has more than six decimals: rounded half up to %s and counted as drift',
    (_, text, i) => {
      expect(roundedTaken.of(i).row).toMatchObject({ commission: text });
      expect(roundedTaken.drifted()).toEqual({ kinds: new Set(['rounded:commission']), count: rounded.length });
    },
  );

  const unfit = [
    '1000000000000',
    '1e400',
    '999999999999.9999999',
    '"abc"',
    '""',
    '"1_000"',
    '" 1"',
    '"0x10"',
    'true',
    '{}',
    '[1]',
  ];
  const unfitTaken = together(unfit.map((raw) => ({ priceInclVat: raw })));
  it.each(unfit.map((raw, i) => [raw, i] as const))(
    '%s does not fit and makes the row a reject that names field and reason',
    (_, i) => {
      const { reject, raw } = unfitTaken.of(i);
      expect(reject).toMatchObject({ reason: 'bad_number', raw, slice_day: day });
      expect(reject?.detail).toMatch(/price_incl_vat|priceInclVat/);
    },
  );
});

describe('counts are whole', () => {
  const whole: [string, string][] = [
    ['3', '3'],
    ['3.0', '3'],
    ['1e2', '100'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
  ];
  const wholeTaken = together(whole.map(([raw]) => ({ quantity: raw })));
  it.each(numbered(whole))('%s is %s', (_, text, i) => {
    expect(wholeTaken.of(i).row).toMatchObject({ quantity: text });
  });

  const broken = ['1.5', '9223372036854775808', '1e30', '1e-13', '3.0000000000001'];
  const brokenTaken = together(broken.map((raw) => ({ quantity: raw })));
  it.each(broken.map((raw, i) => [raw, i] as const))('%s is a reject', (_, i) => {
    expect(brokenTaken.of(i).reject).toMatchObject({ reason: 'bad_number' });
  });
});

describe('days', () => {
  const first = ['"2026-03-01"', '"2026-03-01T23:59:59"', '"2026-03-01 00:00:00+01:00"'];
  const firstTaken = together(first.map((raw) => ({ orderDate: raw })));
  it.each(first.map((raw, i) => [raw, i] as const))('%s is the first of March', (_, i) => {
    expect(firstTaken.of(i).row).toMatchObject({ order_date: day });
  });

  const refused: [string | null, string][] = [
    ['"2026-3-1"', 'bad_day'],
    ['"2026-02-30"', 'bad_day'],
    ['"2026-03-011"', 'bad_day'],
    ['"01-03-2026"', 'bad_day'],
    ['"2026-03-01 BC"', 'bad_day'],
    ['"2026-03-01 (BC)"', 'bad_day'],
    ['"2026-03-01T10:00:00 BC"', 'bad_day'],
    ['20260301', 'bad_day'],
    ['""', 'missing_field'],
    [null, 'missing_field'],
    ['"2026-03-02"', 'outside_window'],
    ['"2026-02-28"', 'outside_window'],
  ];
  const refusedTaken = together(refused.map(([raw]) => ({ orderDate: raw })));
  it.each(numbered(refused))('%s is refused as %s and kept with the first day of the window', (_, reason, i) => {
    const { reject, raw } = refusedTaken.of(i);
    expect(reject).toMatchObject({ reason, slice_day: day, raw });
  });
});

describe('order time', () => {
  const times: [string, string, string, string][] = [
    ['winter', '2026-03-01 12:00:00', '2026-03-01 12:00:00', '2026-03-01 11:00:00+00'],
    ['an offset is obeyed', '2026-03-01T12:00:00+03:00', '2026-03-01 10:00:00', '2026-03-01 09:00:00+00'],
    ['Z is obeyed', '2026-03-01T12:00:00Z', '2026-03-01 13:00:00', '2026-03-01 12:00:00+00'],
    ['fractions', '2026-03-01T12:00:00.250', '2026-03-01 12:00:00.25', '2026-03-01 11:00:00.25+00'],
    ['the hour of spring that is not', '2026-03-29 02:30:00', '2026-03-29 02:30:00', '2026-03-29 01:30:00+00'],
    [
      'the repeated hour of autumn takes the first pass',
      '2025-10-26 02:30:00',
      '2025-10-26 02:30:00',
      '2025-10-26 00:30:00+00',
    ],
    ['after the repeated hour', '2025-10-26 03:00:00', '2025-10-26 03:00:00', '2025-10-26 02:00:00+00'],
  ];
  const timesTaken = together(times.map(([, text]) => ({ orderDateTime: `"${text}"` })));
  it.each(numbered(times))('%s: %s', (_, text, local, utc, i) => {
    expect(timesTaken.of(i).row).toMatchObject({ order_date_time: text, order_local_time: local, order_utc_time: utc });
  });

  it('what is no time is kept as text and counted as drift', async () => {
    const { row, drift } = await one({ orderDateTime: '"gisteren"' });
    expect(row).toMatchObject({ order_date_time: 'gisteren', order_local_time: null, order_utc_time: null });
    expect(drift).toEqual(['bad_time:order_date_time']);
  });
});

describe('status group', () => {
  it.each([
    ['Open', 'false', 'open', []],
    ['Geaccepteerd', 'true', 'approved', []],
    ['GEACCEPTEERD', 'false', 'approved', []],
    ['Geweigerd', 'true', 'rejected', []],
    ['geweigerd: klik te oud', 'true', 'rejected', []],
    ['In behandeling', 'false', 'open', ['unknown_status:status=In behandeling']],
    ['Afgerond', 'true', 'unknown', ['unknown_status:status=Afgerond']],
  ])('%s, final %s: %s', async (status, final, group, drifted) => {
    const { row, drift } = await one({ status: JSON.stringify(status), statusFinal: final });
    expect(row).toMatchObject({ status, status_group: group });
    expect(drift).toEqual(drifted);
  });
});

describe('text and what the contract does not know', () => {
  it('keeps text as it is, leading zeros and all', async () => {
    const title = '  "Café" \\ 😀\t0012 ';
    expect((await one({ productTitle: JSON.stringify(title), productId: '"0042"' })).row).toMatchObject({
      product_title: title,
      product_id: '0042',
    });
  });

  it('an id that comes as a number keeps every digit', async () => {
    expect((await one({ productId: '92233720368547758079' })).row).toMatchObject({
      product_id: '92233720368547758079',
    });
  });

  it('removes NUL and fixes a lone surrogate', async () => {
    const { row, drift } = await one({ productTitle: '"a\\u0000b\\ud800c"' });
    expect(row).toMatchObject({ product_title: 'ab\ufffdc' });
    expect(drift.sort()).toEqual(['lone_surrogate:productTitle', 'nul_removed:productTitle']);
  });

  it('unknown fields go to extra with every digit, and are drift', async () => {
    const { row, drift } = await one({ newThing: '{"a":12345678901234567890.10}' });
    expect(row).toMatchObject({ extra: '{"newThing":{"a":12345678901234567890.10}}' });
    expect(drift).toEqual(['unknown_field:newThing']);
  });

  it('a reject keeps its raw bytes, those that are no UTF-8 as U+FFFD', async () => {
    const bytes = Buffer.from(answer(order(), order({ productTitle: '"x"' })));
    bytes[bytes.lastIndexOf(0x78)] = 0xff;
    const outcome = await normaliseText(orders, bytes, range);
    expect(outcome.rows).toBe(1);
    expect(outcome.rejected).toMatchObject([
      { reason: 'invalid_utf8', item: 1, raw: order({ productTitle: '"\ufffd"' }) },
    ]);
  });
});

describe('duplicates', () => {
  it('drops exact duplicates of a keyed row and counts them', async () => {
    const outcome = await normaliseText(orders, answer(order(), order(), order()), range);
    expect(outcome).toMatchObject({ rows: 1, duplicates: 2, rejects: 0 });
  });

  it('of two rows of one key the later wins and the other is a reject', async () => {
    const outcome = await normaliseText(
      orders,
      answer(order({ quantity: '1' }), order({ quantity: '2' }), order({ quantity: '1' })),
      range,
    );
    expect(outcome).toMatchObject({ rows: 1, duplicates: 1, rejects: 1 });
    expect(outcome.loaded[0]).toMatchObject({ quantity: '1' });
    expect(outcome.rejected[0]).toMatchObject({
      reason: 'conflicting_key',
      item: 1,
      detail: 'order_id = 1, order_item_id = 1',
    });
  });

  it('without a key only rows equal in everything are duplicates', async () => {
    const row = (clicks: number) => `{"date":"2026-03-01","siteCode":"1","clicks":${clicks}}`;
    const outcome = await normaliseText(promotions, answer(row(1), row(1), row(2)), range);
    expect(outcome).toMatchObject({ rows: 2, duplicates: 1, rejects: 0 });
  });
});

describe('rows of a report without a key are two rows', () => {
  it.each([
    ['a mark that parts columns', { siteName: 'a\u001fb', siteCode: 'c' }, { siteName: 'a', siteCode: 'b\u001fc' }],
    ['a mark that stands for nothing', { siteName: '\u001e' }, {}],
    ['a mark that escapes the others', { siteName: '\u001e1' }, { siteName: '\u001f' }],
  ])('when a text holds %s', async (_, one, other) => {
    const row = (fields: object) => JSON.stringify({ date: day, clicks: 1, ...fields });
    const outcome = await normaliseText(promotions, answer(row(one), row(other)), range);
    expect(outcome).toMatchObject({ rows: 2, duplicates: 0, rejects: 0 });
  });
});

describe('slices', () => {
  it('a day without rows is a slice of its own', async () => {
    const outcome = await normaliseText(orders, answer(order()), { from: day, to: '2026-03-02' as Day });
    expect(outcome.slices.map((s) => [s.content.day, s.content.rows])).toEqual([
      ['2026-03-01', 1],
      ['2026-03-02', 0],
    ]);
  });

  it('the digest does not depend on the order of rows, and sees every value', async () => {
    const digest = async (...items: string[]) =>
      (await normaliseText(orders, answer(...items), range)).slices[0]?.content.digest;
    const [a, b] = [order({ orderId: '"1"' }), order({ orderId: '"2"' })];
    expect(await digest(a, b)).toBe(await digest(b, a));
    expect(await digest(a, b)).not.toBe(await digest(a));
    expect(await digest(order({ name: '""' }))).not.toBe(await digest(order({ name: 'null' })));
    expect(await digest(order({ price: '1' }))).not.toBe(await digest(order({ price: '1.0' })));
    expect(await digest(order({ priceExclVat: '1' }))).toBe(await digest(order({ priceExclVat: '1.0' })));
  });

  it('content that is known already is not written again', async () => {
    const outcome = await normaliseText(orders, answer(order()), range, () => true);
    expect(outcome.slices).toMatchObject([{ isKnown: true, file: null }]);
  });

  it('control sums are exact where doubles are not', async () => {
    const items = Array.from({ length: 10 }, (_, i) =>
      order({ orderItemId: `"${i}"`, commission: '0.1', quantity: '9007199254740993' }),
    );
    const { slices } = await normaliseText(orders, answer(...items), range);
    expect(slices[0]?.content.sums).toMatchObject({
      commission: '1.000000',
      quantity: '90071992547409930',
      price_excl_vat: null,
    });
  });

  it.each([
    ['open', { statusFinal: 'false' }, false],
    ['final and rejected', { statusFinal: 'true', status: '"Geweigerd"' }, true],
    [
      'accepted, not approved for payment',
      { statusFinal: 'true', status: '"Geaccepteerd"', approvedForPayment: 'false' },
      false,
    ],
    [
      'accepted and approved for payment',
      { statusFinal: 'true', status: '"Geaccepteerd"', approvedForPayment: 'true' },
      true,
    ],
    ['nothing said', {}, false],
  ])('an order item that is %s', async (_, fields, settled) => {
    const { slices } = await normaliseText(orders, answer(order(fields as Record<string, string>)), range);
    expect(slices[0]?.content.settled).toBe(settled);
  });
});
