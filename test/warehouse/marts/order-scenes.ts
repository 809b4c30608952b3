/** Histories of order items as the lake hands them over: what each fetch showed of an item → what it is, and what it was. */
import { afterAll, beforeAll } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { LoadSlice, Publication, Target } from '../../../src/warehouse/target.ts';
import { orderSlices, type Sight } from '../../support/order-sights.ts';
import { day, publicationOf, type RowText, SliceMaker } from '../../support/slices.ts';
import { type NewWarehouse, rowsOf, type Warehouse } from '../bench.ts';

/** A Monday, and the day after it. */
export const DAY = day('2026-03-02');
export const NEXT = day('2026-03-03');

/** What items say. */
export const OPEN: RowText = {
  ...{ site_code: '1', frame_type: 'banner', name: null, sub_id: 'a', chunk_name: 'x' },
  ...{ quantity: '2', price_excl_vat: '10', price_incl_vat: '12.1', commission_percentage: '5', commission: '1' },
  ...{ status_group: 'open', status_final: 'false', approved_for_payment: 'false' },
};
export const APPROVED: RowText = { ...OPEN, status_group: 'approved' };
export const PAID: RowText = { ...APPROVED, status_final: 'true', approved_for_payment: 'true' };
export const REJECTED: RowText = { ...OPEN, commission: '0.8', status_group: 'rejected' };

/** Item → what was seen of it, oldest first; `at` is `yyyy-mm-dd hh:mm`, UTC. */
export type Histories = Readonly<Record<string, readonly Sight[]>>;

export interface Scene {
  readonly ask: (sql: string) => Promise<readonly (readonly (string | boolean | null)[])[]>;
  readonly publish: (slices: readonly LoadSlice[], fields?: Partial<Publication>) => Promise<unknown>;
  readonly maker: SliceMaker;
}

/** Registers the hooks that give a describe one warehouse; the returned object is valid inside tests. */
export function useScene(newWarehouse: NewWarehouse, build: (scene: Scene) => Promise<unknown>): Scene {
  const scene = {} as { -readonly [K in keyof Scene]: Scene[K] };
  let warehouse: Warehouse;
  beforeAll(async () => {
    warehouse = await newWarehouse('migrated');
    const target: Target = warehouse.open();
    scene.maker = await SliceMaker.open();
    scene.ask = (sql) => rowsOf(target, sql);
    scene.publish = (slices, fields = {}) => target.publish(publicationOf('r1', slices, fields));
    await build(scene);
  });
  afterAll(async () => {
    await scene.maker.close();
    await warehouse.remove();
  });
  return scene;
}

/** The slices of order items and of their history as they are after a fetch, of all days that any sight names. */
export function slicesAt(maker: SliceMaker, histories: Histories, at: string): Promise<LoadSlice[]> {
  const items = Object.entries(histories).map(([name, sights]) => ({
    ...{ order_id: 'o1', order_item_id: name },
    sights: sights.filter((sight) => sight.at <= at).map((sight) => ({ ...sight, at: `${sight.at}:00+00` })),
  }));
  return Promise.all(orderSlices(maker, items));
}

/** Slices without orders, so that days count as loaded. */
export function emptyDays(maker: SliceMaker, from: Day, to: Day): Promise<LoadSlice[]> {
  const slices: Promise<LoadSlice>[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) slices.push(maker.make(orders, day, []));
  return Promise.all(slices);
}
