import { expect, test } from 'vitest';
import { newsOf, printOutcome } from '../../../src/cli/print/outcome.ts';
import { EtlError } from '../../../src/core/errors.ts';
import type { RunOutcome } from '../../../src/run/session.ts';
import type { RunChanges } from '../../../src/run/window/what-changed.ts';
import { fakeContext } from '../surroundings.ts';

const NOTHING: RunChanges = {
  ...{ new_orders: 0, new_items: 0, vanished_items: 0, approved_items: 0, approved_commission: '0.00' },
  ...{ paid_items: 0, paid_commission: '0.00', restated_days: {} },
};

test.each<[string, Partial<RunChanges>, string[]]>([
  ['nothing', {}, []],
  ['new orders', { new_orders: 1100, new_items: 1234 }, ['1,100 new orders of 1,234 items']],
  ['new items of known orders', { new_items: 1234 }, ['1,234 new order items']],
  [
    'approvals',
    { approved_items: 1, approved_commission: '1234567.125' },
    ['newly approved: 1,234,567.125 commission of 1 item'],
  ],
  [
    'money taken back',
    { approved_items: 2, approved_commission: '-1234.50' },
    ['newly approved: -1,234.50 commission of 2 items'],
  ],
  ['payments', { paid_items: 2, paid_commission: '12.30' }, ['payment begun: 12.30 commission of 2 items']],
  ['items that are gone', { vanished_items: 1 }, ['1 vanished item']],
  ['restated days', { restated_days: { orders: 2, promotions: 1 } }, ['restated days: orders 2, promotions 1']],
])('a run that brought %s', (_, changes, lines) => {
  expect(newsOf({ ...NOTHING, ...changes })).toEqual(lines);
});

test('a target that could not be published into is not one that had nothing to load', () => {
  const { context, stdout } = fakeContext();
  const errors = [new EtlError('retry', 'postgres', 'Postgres: connect ECONNREFUSED')];
  const published = [
    { target: 'duckdb', result: null, errors: [], holds: [] },
    { target: 'postgres', result: null, errors, holds: [] },
  ];
  const summary = { windows: 1, calls: 1, rows: 0, slices_changed: 0, slices_unchanged: 1 };
  printOutcome(
    context,
    { run: { summary }, exitCode: 1, errors, published, changes: NOTHING } as unknown as RunOutcome,
    false,
  );
  expect(stdout.text).toContain('\nduckdb: nothing to load\npostgres: could not be published into\n');
});
