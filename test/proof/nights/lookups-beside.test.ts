/** Beside a night of look-ups: another run is refused and told who is at work; single look-ups go on. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/core/errors.ts';
import type { Step } from '../../../src/run/context.ts';
import { lookUpCommissions } from '../../../src/run/keys/look-up.ts';
import { listEans, openLookupWorld, rateDifferences } from '../../support/lookups.ts';
import type { World } from '../../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openLookupWorld({
    rates: {},
    service: { retailer: { commission: { bulk: { eansPerRequest: 2 } } } },
  });
});
afterEach(() => world.close());

it('a second run is refused with exit code 75, and a single look-up is answered and leaves the night alone', async () => {
  const eans = world.sandbox.eans(8);
  await listEans(world, eans);
  const refusals: unknown[] = [];
  const answers: unknown[] = [];
  const step = async (name: Step) => {
    if (name !== 'answer-received' || refusals.length > 0) return;
    refusals.push('under way');
    const thrown: unknown = await world.night({ names: ['commission-rates'] }).catch((error: unknown) => error);
    refusals.push(thrown, exitCodeOf(thrown as Parameters<typeof exitCodeOf>[0]));
    const question = { ean: eans[0]!, condition: 'NEW', price: '12.50' };
    const found = await world.within((context) => lookUpCommissions(context, [question]));
    answers.push(...found.answers.map(({ outcome }) => outcome));
  };
  const night = await world.night({ names: ['commission-rates'], step });
  expect(refusals).toEqual([
    'under way',
    expect.objectContaining({
      kind: 'locked',
      code: 'run',
      message: expect.stringMatching(
        `"run commission-rates" \\(process ${process.pid} on .+\\), since 2026-03-20T02:0`,
      ),
    }),
    75,
  ]);
  expect(answers).toEqual(['found']);
  expect(night).toMatchObject({ exitCode: 0, errors: [], run: { summary: { calls: 4, rows: 8 } } });
  expect(await rateDifferences(world, eans)).toEqual([]);
});
