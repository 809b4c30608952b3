import { expect, it } from 'vitest';
import { bornMs, newId } from '../../src/core/ids.ts';
import { FakeClock } from '../support/clock.ts';

const at = (ms: number) => newId('f', new FakeClock(ms));

it('an id is a letter, ten characters of time and eight of chance', () => {
  expect(newId('r', new FakeClock())).toMatch(/^r[0-9a-hjkmnp-tv-z]{18}$/);
  expect(at(0)).toMatch(/^f0{10}/);
});

it.each([
  ['a millisecond', 1],
  ['a carry in base 32', 31],
  ['a second', 1000],
  ['a day', 86_400_000],
])('ids sort as text by the time of their birth: %s apart', (_, apartMs) => {
  const start = Date.parse('2026-03-01T00:00:00Z');
  const born = Array.from({ length: 200 }, (_, i) => at(start + i * apartMs));
  expect([...born].sort()).toEqual(born);
});

it('they sort over the centuries, too', () => {
  const years = ['1970-01-01', '1999-12-31', '2026-03-01', '2100-01-01', '3000-01-01', '9999-12-31'];
  const born = years.map((day) => at(Date.parse(`${day}T00:00:00Z`)));
  expect([...born].sort()).toEqual(born);
});

it.each([0, 1, 1_774_000_000_123, Date.parse('9999-12-31T23:59:59Z')])('an id tells that it was born at %i', (ms) => {
  expect(bornMs(at(ms))).toBe(ms);
});

it.each(['', 'r', 'r1', 'run-of-another-kind', 'ruuuuuuuuuu'])('%j tells no time', (text) => {
  expect(bornMs(text)).toBeNaN();
});

it('ids of one millisecond differ', () => {
  const clock = new FakeClock();
  const ids = Array.from({ length: 5000 }, () => newId('f', clock));
  expect(new Set(ids).size).toBe(ids.length);
});
