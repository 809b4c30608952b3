import { describe, expect, test } from 'vitest';
import { centsOf, centsText, commissionOf, ratio, withoutVat } from '../../../src/sandbox/catalogue/amounts.ts';
import { checkDigit, eanOf, isEan } from '../../../src/sandbox/catalogue/catalogue.ts';
import { dutchIso, dutchWall, lastPassedSecond, usableSeconds, wallSecond } from '../../../src/sandbox/dutch-time.ts';
import { cents, groupBy, type Item, NOON, openSandbox } from './client.ts';

const at = (text: string): number => Date.parse(text);
const dayNumber = (text: string): number => at(`${text}T00:00:00Z`) / 86_400_000;

describe('amounts', () => {
  test.each([
    [0, '0'],
    [5, '0.05'],
    [50, '0.5'],
    [1200, '12'],
    [1210, '12.1'],
    [1234, '12.34'],
    [-5, '-0.05'],
    [-1210, '-12.1'],
    [123456789012345, '1234567890123.45'],
  ])('%d cents are written %s', (amount, text) => {
    expect(centsText(amount)).toBe(text);
    expect(centsOf(text)).toBe(Math.abs(amount) < 1e14 ? amount : undefined);
  });

  test.each(['', '1.234', '1e2', '.5', '1,5', 'x', '1.'])('"%s" is no amount', (text) => {
    expect(centsOf(text)).toBeUndefined();
  });

  test('VAT is taken off and commission is put on with half cents rounded up', () => {
    expect(withoutVat(1159, 21)).toBe(958);
    expect(withoutVat(121, 21)).toBe(100);
    expect(withoutVat(999, 9)).toBe(917);
    expect(commissionOf(1000, 1, 1250)).toBe(125);
    expect(commissionOf(10, 1, 500)).toBe(1);
    expect(commissionOf(47404, 2, 750)).toBe(7111);
  });

  test('a ratio has six digits at the most, and over nothing there is none', () => {
    expect(ratio(1, 3)).toBe(0.333333);
    expect(ratio(1, 0)).toBeUndefined();
  });
});

describe('EANs', () => {
  test.each(['8712626055143', '8804269223123', '0604020064587', '8718526069334'])('%s is one', (ean) => {
    expect(checkDigit(ean.slice(0, 12))).toBe(ean[12]);
    expect(isEan(ean)).toBe(true);
  });

  test.each(['8712626055144', '871262605514', '87126260551430', '0', ''])('"%s" is none', (text) => {
    expect(isEan(text)).toBe(false);
  });

  test('made ones are valid, all different, and some begin with a zero', () => {
    const eans = Array.from({ length: 5000 }, (_, i) => eanOf(3, 103, i));
    expect(eans.filter(isEan)).toHaveLength(5000);
    expect(new Set(eans).size).toBe(5000);
    expect(eans.some((ean) => ean.startsWith('0'))).toBe(true);
  });
});

describe('the Dutch clock', () => {
  test.each([
    ['2026-01-10T12:00:00Z', '2026-01-10', '13:00'],
    ['2026-03-29T00:59:59Z', '2026-03-29', '01:59'],
    ['2026-03-29T01:00:00Z', '2026-03-29', '03:00'],
    ['2026-06-30T22:00:00Z', '2026-07-01', '00:00'],
    ['2026-10-25T00:59:59Z', '2026-10-25', '02:59'],
    ['2026-10-25T01:00:00Z', '2026-10-25', '02:00'],
  ])('%s is %s %s', (instant, day, time) => {
    const wall = dutchWall(at(instant));
    expect(wall.day).toBe(dayNumber(day));
    expect(Math.floor(wall.seconds / 60)).toBe(Number(time.slice(0, 2)) * 60 + Number(time.slice(3)));
    const zone = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Amsterdam',
      dateStyle: 'short',
      timeStyle: 'short',
    });
    expect(zone.format(at(instant))).toBe(`${day} ${time}`);
  });

  test('an instant is written with its offset', () => {
    expect(dutchIso(at('2026-01-10T12:00:00.5Z'))).toBe('2026-01-10T13:00:00.500+01:00');
    expect(dutchIso(at('2026-07-10T12:00:00Z'))).toBe('2026-07-10T14:00:00.000+02:00');
  });

  test('no order falls into the hour that spring leaves out', () => {
    const spring = dayNumber('2026-03-29');
    expect(usableSeconds(spring)).toBe(82_800);
    expect(wallSecond(7199, 82_800)).toBe(7199);
    expect(wallSecond(7200, 82_800)).toBe(10_800);
    expect(usableSeconds(dayNumber('2026-10-25'))).toBe(86_400);
  });

  test('what has passed never becomes less, also in the hour that autumn repeats', () => {
    const autumn = dayNumber('2026-10-25');
    const start = at('2026-10-24T21:00:00Z');
    const passed = Array.from({ length: 28 * 12 }, (_, i) => lastPassedSecond(autumn, start + i * 300_000));
    expect(passed).toEqual([...passed].sort((a, b) => a - b));
    expect(passed[0]).toBe(-1);
    expect(passed.at(-1)).toBe(86_399);
    expect(lastPassedSecond(autumn, at('2026-10-25T01:30:00Z'))).toBe(10_799);
  });
});

describe('a world', () => {
  const range = ['2026-05-01', '2026-05-03'] as const;

  test('is the same to the byte for the same seed, and another one for another', async () => {
    const bodies = [];
    for (const seed of [5, 5, 6]) bodies.push((await (await openSandbox({ seed })).report('orders', ...range)).text);
    expect(bodies[1]).toBe(bodies[0]);
    expect(bodies[2]).not.toBe(bodies[0]);
  });

  test('answers with the same bytes however the range is cut', async () => {
    const { items } = await openSandbox();
    const days = [];
    for (const day of ['2026-05-01', '2026-05-02', '2026-05-03']) days.push(...(await items('orders', day, day)));
    expect(await items('orders', ...range)).toEqual(days);
  });

  test('has orders of one to four items with one placement, ids that name one item each, and times inside the day', async () => {
    const { items } = await openSandbox({ ordersPerDay: 3000 });
    const found = await items('orders', '2026-05-01', '2026-05-01');
    expect(found.length).toBeGreaterThan(2500);
    expect(found.length).toBeLessThan(3500);
    expect(new Set(found.map((item) => item.orderItemId)).size).toBe(found.length);
    const orders = groupBy(found, (item) => item.orderId);
    expect(new Set([...orders.values()].map((order) => order.length))).toEqual(new Set([1, 2, 3, 4]));
    const placement = (item: Item) => [item.siteCode, item.frameType, item.name, item.subId, item.orderDateTime].join();
    const placements = [...orders.values()].map((order) => new Set(order.map(placement)).size);
    expect(new Set(placements)).toEqual(new Set([1]));
    const times = found.map((item) => String(item.orderDateTime));
    expect(times).toEqual([...times].sort());
    expect(times.filter((time) => /^2026-05-01 ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(time))).toHaveLength(
      found.length,
    );
    const ids = found.map((item) => String(item.orderId));
    expect(ids).toEqual([...ids].sort());
  });

  test('has prices with VAT of 9 or 21 %, and commission on the price without it', async () => {
    const { items } = await openSandbox({ ordersPerDay: 500 });
    const found = await items('orders', '2026-05-01', '2026-05-01');
    const wrong = found.filter((item) => {
      const [excl, incl] = [cents(item.priceExclVat), cents(item.priceInclVat)];
      const half = (numerator: bigint, denominator: bigint) => (2n * numerator + denominator) / (2n * denominator);
      const exclFits = [109n, 121n].some((rate) => half(incl * 100n, rate) === excl);
      const base = excl * BigInt(String(item.quantity)) * cents(item.commissionPercentage);
      return !exclFits || half(base, 10_000n) !== cents(item.commission);
    });
    expect(wrong).toEqual([]);
  });

  test('has absent fields, quotes, emoji and other letters', async () => {
    const { items } = await openSandbox({ ordersPerDay: 2000 });
    const found = await items('orders', '2026-05-01', '2026-05-01');
    const some = (test: (item: Item) => boolean) => expect(found.some(test)).toBe(true);
    some((item) => !('subId' in item));
    some((item) => !('name' in item));
    some((item) => !('chunkName' in item));
    for (const letter of ['"', '\\', 'è', 'Ω', '🎁']) some((item) => String(item.productTitle).includes(letter));
    expect(found.every((item) => Object.values(item).every((value) => value !== 'null'))).toBe(true);
  });

  test('has no orders before its first day, after now, or of a time that has not come', async () => {
    const client = await openSandbox({ ordersPerDay: 2000, firstDay: '2026-06-08' as never });
    const { sandbox, items } = client;
    expect(await items('orders', '2026-06-01', '2026-06-07')).toEqual([]);
    expect(await items('promotions', '2026-06-01', '2026-06-07')).toEqual([]);
    expect(await items('orders', '2026-06-11', '2030-01-01')).toEqual([]);
    const noon = await items('orders', '2026-06-10', '2026-06-10');
    expect(String(noon.at(-1)?.orderDateTime) <= '2026-06-10 12:00:00').toBe(true);
    sandbox.setNow(NOON + 3_600_000);
    const later = await items('orders', '2026-06-10', '2026-06-10');
    expect(later.length).toBeGreaterThan(noon.length);
    expect(later.slice(0, noon.length)).toEqual(noon);
  });
});
