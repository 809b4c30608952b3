import { expect, test } from 'vitest';
import { gridLine, legend } from '../../../src/cli/print/status-grid.ts';
import { addDays, parseDay } from '../../../src/core/days.ts';

const days = Array.from({ length: 200 }, (_, i) => ({
  day: addDays(parseDay('2026-01-01'), i),
  state: i === 199 ? ('failed' as const) : ('settled' as const),
}));

test.each([80, 100, 120, 60, 40, 20])(
  'on a terminal of %i columns no line is longer, and the newest day is shown',
  (width) => {
    const line = gridLine({ pipeline: 'orders', days }, width);
    expect(line.length).toBeLessThanOrEqual(width);
    expect(line).toMatch(/█!(?: 2026-07-19)?$/);
  },
);

test('days are left out at the old end, and the first one that is shown is named', () => {
  const line = gridLine({ pipeline: 'orders', days }, 80);
  expect(line).toBe(`orders           2026-06-09 ${'█'.repeat(40)}! 2026-07-19`);
  expect(gridLine({ pipeline: 'orders', days }, Number.POSITIVE_INFINITY)).toContain(` 2026-04-19 ${'█'.repeat(91)}! `);
});

test('the legend fits as well', () => {
  for (const line of legend(80).split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(legend(120)).not.toContain('\n');
});
