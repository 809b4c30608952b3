/** An installation whose second night held a day, rejected a row and brought a field that nobody knows. */
import { expect } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { PageModel } from '../../../src/serve/page/model.ts';
import { openWorld, type World } from '../../support/nights.ts';
import type { PageScene } from './scene.ts';

export interface HeldWorld {
  readonly world: World;
  /** Lost most of its items in the second night. */
  readonly held: Day;
  /** Has an item that could not be loaded. */
  readonly rejected: Day;
}

export async function openHeldWorld(): Promise<HeldWorld> {
  const world = await openWorld({ ordersPerDay: 30, lookbackDays: 4 });
  await world.night();
  world.passDays(1);
  const held = addDays(world.today(), -4);
  world.sandbox.change({ kind: 'shrink-day', report: 'orders', day: held, items: 2 });
  world.sandbox.addFault({ endpoint: 'commissions', kind: 'unknown-field', field: 'voucher' });
  world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 2 });
  await world.night();
  const entries = await world.within(async (context) => [...(await context.lake.slices('orders')).values()]);
  return { world, held, rejected: entries.find(({ content }) => content.rejects > 0)!.content.day };
}

export async function modelOf({ ask }: Pick<PageScene, 'ask'>): Promise<PageModel> {
  const { status, text } = await ask('/api/page');
  expect(status).toBe(200);
  return JSON.parse(text) as PageModel;
}
