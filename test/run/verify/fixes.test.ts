import { expect, test } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import { joinFixes, type RangeFix } from '../../../src/run/verify/fixes.ts';

const command =
  (verb: string) =>
  (from: string, to = from): RangeFix => ({
    ...{ from: from as Day, to: to as Day },
    over: (first, last) => `${verb} --from ${first} --to ${last}`,
  });
const [replay, backfill] = [command('replay'), command('backfill')];
const fixesOf = (fixes: readonly (string | RangeFix)[]) =>
  joinFixes(fixes.map((fix) => ({ fix }))).map(({ fix }) => fix);

test.each<[string, (string | RangeFix)[], string[]]>([
  ['nothing', [], []],
  [
    'days that touch, over the end of a month',
    [replay('2026-02-28'), replay('2026-03-01'), replay('2026-03-02')],
    [...Array<string>(3).fill('replay --from 2026-02-28 --to 2026-03-02')],
  ],
  [
    'days that do not touch',
    [replay('2026-03-01'), replay('2026-03-03')],
    ['replay --from 2026-03-01 --to 2026-03-01', 'replay --from 2026-03-03 --to 2026-03-03'],
  ],
  [
    'ranges that overlap, in any order, beside another command and a fix in words',
    [
      backfill('2026-03-05', '2026-03-08'),
      replay('2026-03-06'),
      'restore it',
      backfill('2026-03-01', '2026-03-09'),
      backfill('2026-03-10'),
    ],
    [
      'backfill --from 2026-03-01 --to 2026-03-10',
      'replay --from 2026-03-06 --to 2026-03-06',
      'restore it',
      'backfill --from 2026-03-01 --to 2026-03-10',
      'backfill --from 2026-03-01 --to 2026-03-10',
    ],
  ],
])('%s', (_, fixes, expected) => {
  expect(fixesOf(fixes)).toEqual(expected);
});
