import { expect, test } from 'vitest';
import { dayOn, dayWord } from '../../src/cli/values.ts';
import { parseDay } from '../../src/core/days.ts';

const TODAY = parseDay('2026-03-01');

test.each([
  ['2025-12-31', '2025-12-31'],
  ['today', '2026-03-01'],
  ['Yesterday', '2026-02-28'],
  ['today-0', '2026-03-01'],
  ['today-60', '2025-12-31'],
])('%s is %s on the first of March', (word, day) => {
  expect(dayOn(TODAY, dayWord(word))).toBe(day);
});

test.each(['2026-02-30', 'tomorrow', 'yesterday-1', 'today+1', '-7', ''])('%j is no day', (word) => {
  expect(() => dayWord(word)).toThrow('yyyy-mm-dd');
});
