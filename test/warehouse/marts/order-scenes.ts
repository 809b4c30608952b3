/** Histories of order items as the lake hands them over: what each fetch showed of an item → versions, and facts as they are now. */
import { afterAll, beforeAll } from 'vitest';
import { orderItemVersions, orders } from '../../../pipelines/orders.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { LoadSlice, Publication, Target } from '../../../src/warehouse/target.ts';
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

/** What one fetch showed of an item: on which day it was and what it said; without values, that it was gone from that day. */
export interface Sight {
  /** `yyyy-mm-dd hh:mm`, UTC. */
  readonly at: string;
  readonly on: Day;
  readonly values: RowText | null;
}

/** Item → what was seen of it, oldest first. */
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

/** The slices of facts and of versions as they are after a fetch, of all days that any sight names. */
export function slicesAt(maker: SliceMaker, histories: Histories, at: string): Promise<LoadSlice[]> {
  const items = Object.entries(histories).map(([name, sights]) => ({
    key: { order_id: 'o1', order_item_id: name },
    sights: sights.filter((sight) => sight.at <= at),
  }));
  const versions = items.flatMap(({ key, sights }) => sights.map((sight) => versionOf(key, sight)));
  const facts = items.flatMap(({ key, sights }) => {
    const now = sights.at(-1);
    return now?.values ? [{ order_date: now.on, ...key, ...now.values }] : [];
  });
  const days = new Set(versions.map((row) => row.order_date as Day));
  const ofDay = (rows: readonly RowText[], day: Day) => rows.filter((row) => row.order_date === day);
  return Promise.all(
    [...days].flatMap((day) => [
      maker.make(orders, day, ofDay(facts, day)),
      maker.make(orderItemVersions, day, ofDay(versions, day)),
    ]),
  );
}

function versionOf(key: RowText, { at, on, values }: Sight): RowText {
  const seen = { observed_on: at.slice(0, 10), observed_from: `${at}:00+00`, is_present: String(values !== null) };
  return { order_date: on, ...key, ...values, ...seen };
}

/** Slices without orders, so that days count as loaded. */
export function emptyDays(maker: SliceMaker, from: Day, to: Day): Promise<LoadSlice[]> {
  const slices: Promise<LoadSlice>[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) slices.push(maker.make(orders, day, []));
  return Promise.all(slices);
}
