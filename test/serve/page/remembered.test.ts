import { describe, expect, test } from 'vitest';
import { Remembered } from '../../../src/serve/page/sources/remembered.ts';
import { FakeClock } from '../../support/clock.ts';

interface Making {
  readonly end: (value: string) => void;
  readonly fail: (error: Error) => void;
}

/** A value whose every making is ended by hand. */
function scene() {
  const clock = new FakeClock();
  const makings: Making[] = [];
  const make = () => new Promise<string>((end, fail) => makings.push({ end, fail }));
  return { clock, makings, value: new Remembered({ make, clock, freshMs: 3_000, patienceMs: 3_000 }) };
}

describe('a remembered value', () => {
  test('is made once for all who ask at once, and handed out until its time has passed', async () => {
    const { clock, makings, value } = scene();
    const asked = [value.read(), value.read()];
    makings[0]!.end('first');
    expect(await Promise.all(asked)).toEqual(['first', 'first']);
    await clock.advance(2_999);
    expect(await value.read()).toBe('first');
    await clock.advance(1);
    const later = value.read();
    makings[1]!.end('second');
    expect(await later).toBe('second');
    expect(makings).toHaveLength(2);
  });

  test('that is long in the making is handed out three times as long as that took', async () => {
    const { clock, makings, value } = scene();
    const first = value.read();
    await clock.advance(4_000);
    makings[0]!.end('first');
    await first;
    await clock.advance(11_999);
    expect(await value.read()).toBe('first');
    expect(makings).toHaveLength(1);
  });

  test('is the old one again for who has waited long enough for the new one', async () => {
    const { clock, makings, value } = scene();
    const first = value.read();
    makings[0]!.end('first');
    await first;
    await clock.advance(3_000);
    const tired = value.read();
    await clock.asleep((ms) => ms === 3_000);
    await clock.advance(3_000);
    expect(await tired).toBe('first');
    const patient = value.read();
    makings[1]!.end('second');
    expect(await patient).toBe('second');
  });

  test('that could not be made is made again for the next who asks', async () => {
    const { makings, value } = scene();
    const first = value.read();
    makings[0]!.fail(new Error('no disk'));
    await expect(first).rejects.toThrow('no disk');
    const second = value.read();
    makings[1]!.end('second');
    expect(await second).toBe('second');
  });

  test('that was forgotten in the making is for those alone who asked before', async () => {
    const { makings, value } = scene();
    const before = value.read();
    value.forget();
    const after = value.read();
    makings[0]!.end('old');
    makings[1]!.end('new');
    expect(await Promise.all([before, after, value.read()])).toEqual(['old', 'new', 'new']);
  });
});
