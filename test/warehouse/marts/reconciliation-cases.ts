/** Cases of the reconciliation: what the three reports tell of a day, and what was seen of its order items before. */
import { commissions } from '../../../pipelines/commissions.ts';
import { orders } from '../../../pipelines/orders.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { addDays, type Day } from '../../../src/core/days.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { orderSlices } from '../../support/order-sights.ts';
import { day, type RowText, type SliceMaker } from '../../support/slices.ts';

const FIRST = day('2026-03-01');

const PLACE = { site_code: '1', frame_type: 'banner', name: null, sub_id: 'a' };
const SHOWN = {
  ...PLACE,
  clicks: '40',
  orders: '1',
  commission: '1.5',
  revenue_excl_vat: '20',
  revenue_incl_vat: '24.2',
};
const BOOKED = {
  ...PLACE,
  commission_original: '1.5',
  commission_approved: '0.75',
  commission_open: '0.75',
  revenue_original_excl_vat: '20',
  revenue_original_incl_vat: '24.2',
};
/** Of two rates; the report groups by them as well. */
const HALF = {
  ...PLACE,
  commission_original: '0.75',
  commission_approved: '0.375',
  commission_open: '0.375',
  revenue_original_excl_vat: '10',
  revenue_original_incl_vat: '12.1',
};
const APPROVED = {
  ...PLACE,
  quantity: '2',
  price_excl_vat: '5',
  price_incl_vat: '6.05',
  commission: '0.75',
  status_group: 'approved',
};
const OPEN = { ...APPROVED, status_group: 'open' };

/** What an item said from an hour of the next day on; null: it was gone. On another day, where one is named. */
export interface Sight {
  readonly from: string;
  readonly says: RowText | null;
  /** Days after the case's own. */
  readonly by?: number;
}

/** An item as it always was. */
const always = (says: RowText): Sight[] => [{ from: '01:00', says }];
const changed = (before: RowText, after: RowText | null, from = '05:00'): Sight[] => [
  ...always(before),
  { from, says: after },
];

export interface Told {
  readonly promotions?: readonly RowText[] | null;
  readonly commissions?: readonly RowText[] | null;
  /** Order and item → what was seen of it. */
  readonly items?: Readonly<Record<string, readonly Sight[]>>;
  /** When the content of the two reports was fetched, on the next day; later than anything else unless said. */
  readonly promotionsAt?: string;
  readonly commissionsAt?: string;
}

const TWO_ITEMS = { 'o1 i1': always(APPROVED), 'o1 i2': always(OPEN) };
/** The second item was dearer before. */
const RESTATED = {
  ...TWO_ITEMS,
  'o1 i2': changed({ ...OPEN, price_excl_vat: '6', price_incl_vat: '7.26', commission: '0.9' }, OPEN),
};
const SHOWN_BEFORE = { ...SHOWN, commission: '1.65', revenue_excl_vat: '22', revenue_incl_vat: '26.62' };
const BOOKED_BEFORE = {
  ...BOOKED,
  commission_original: '1.65',
  commission_open: '0.9',
  revenue_original_excl_vat: '22',
  revenue_original_incl_vat: '26.62',
};
const GONE = { ...TWO_ITEMS, 'o1 i3': changed(APPROVED, null), 'o2 i4': changed(OPEN, null) };
const SHOWN_GONE = { ...SHOWN, orders: '2', commission: '3', revenue_excl_vat: '40', revenue_incl_vat: '48.4' };
const BOOKED_GONE = {
  ...BOOKED,
  commission_original: '3',
  commission_approved: '1.5',
  commission_open: '1.5',
  revenue_original_excl_vat: '40',
  revenue_original_incl_vat: '48.4',
};
const elsewhere = (row: RowText) => ({ ...row, sub_id: null });
const LATE = { ...TWO_ITEMS, 'o2 i3': [{ from: '05:00', says: OPEN }] };

/** Name, promotions against orders, commissions against orders, and what was told. Where a case has two rows, both are of the class, or equal. */
export const CASES: readonly (readonly [name: string, promotions: string, commissions: string, told: Told])[] = [
  ['three that agree', 'equal', 'equal', {}],
  ['two rates of commission', 'equal', 'equal', { commissions: [HALF, HALF] }],
  ['clicks without orders', 'equal', 'equal', { items: {}, promotions: [{ ...PLACE, clicks: '3' }], commissions: [] }],
  ['no promotions yet', 'not_loaded', 'equal', { promotions: null }],
  ['no commissions yet', 'equal', 'not_loaded', { commissions: null }],
  ['promotions without the sub-ID', 'missing_sub_id', 'equal', { promotions: [elsewhere(SHOWN)] }],
  [
    'promotions without the sub-ID and a little more',
    'unexplained',
    'equal',
    { promotions: [elsewhere({ ...SHOWN, commission: '1.500001' })] },
  ],
  ['promotions of another name', 'unexplained', 'equal', { promotions: [{ ...SHOWN, name: 'x' }] }],
  ['commissions of another sub-ID', 'equal', 'missing_sub_id', { commissions: [HALF, { ...HALF, sub_id: 'b' }] }],
  [
    'commissions of another sub-ID and a little less',
    'equal',
    'unexplained',
    { commissions: [HALF, { ...HALF, sub_id: 'b', revenue_original_incl_vat: '12.099999' }] },
  ],
  ['promotions with other VAT', 'vat', 'equal', { promotions: [{ ...SHOWN, revenue_incl_vat: '20' }] }],
  ['commissions with other VAT', 'equal', 'vat', { commissions: [{ ...BOOKED, revenue_original_incl_vat: '20' }] }],
  [
    'other VAT, and a little more revenue',
    'unexplained',
    'unexplained',
    {
      promotions: [{ ...SHOWN, revenue_incl_vat: '20', revenue_excl_vat: '20.000001' }],
      commissions: [{ ...BOOKED, revenue_original_incl_vat: '20', revenue_original_excl_vat: '20.000001' }],
    },
  ],
  ['promotions with more commission', 'rate', 'equal', { promotions: [{ ...SHOWN, commission: '1.500001' }] }],
  [
    'promotions with more commission and revenue',
    'unexplained',
    'equal',
    { promotions: [{ ...SHOWN, commission: '1.6', revenue_excl_vat: '20.000001' }] },
  ],
  ['promotions with another order', 'unexplained', 'equal', { promotions: [{ ...SHOWN, orders: '2' }] }],
  [
    'commissions with less commission',
    'equal',
    'rate',
    { commissions: [{ ...BOOKED, commission_original: '1.4', commission_open: '0.65' }] },
  ],
  [
    'commissions with less commission and revenue',
    'equal',
    'unexplained',
    { commissions: [{ ...BOOKED, commission_original: '1.4', revenue_original_incl_vat: '24.199999' }] },
  ],
  [
    'items that vanished',
    'vanished',
    'vanished',
    { items: GONE, promotions: [SHOWN_GONE], commissions: [BOOKED_GONE] },
  ],
  [
    'all items vanished',
    'vanished',
    'vanished',
    { items: { 'o1 i1': changed(APPROVED, null), 'o1 i2': changed(OPEN, null) } },
  ],
  [
    'items that vanished, and a little more',
    'unexplained',
    'unexplained',
    {
      items: GONE,
      promotions: [{ ...SHOWN_GONE, commission: '3.000001' }],
      commissions: [{ ...BOOKED_GONE, commission_open: '1.499999' }],
    },
  ],
  [
    'items that vanished, and an order too few',
    'unexplained',
    'equal',
    { items: GONE, promotions: [{ ...SHOWN_GONE, orders: '1' }] },
  ],
  ['items that vanished from one report only', 'equal', 'vanished', { items: GONE, commissions: [BOOKED_GONE] }],
  ['approved since', 'equal', 'timing', { items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, APPROVED) } }],
  [
    'approved since, but a little less than was open',
    'equal',
    'unexplained',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, APPROVED) },
      commissions: [{ ...BOOKED, commission_open: '0.749999' }],
    },
  ],
  [
    'rejected since',
    'equal',
    'timing',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, { ...OPEN, status_group: 'rejected' }) },
      commissionsAt: '04:00',
    },
  ],
  [
    'rejected before the report',
    'equal',
    'unexplained',
    { items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, { ...OPEN, status_group: 'rejected' }) } },
  ],
  [
    'restated since',
    'timing',
    'timing',
    {
      items: RESTATED,
      promotions: [SHOWN_BEFORE],
      commissions: [BOOKED_BEFORE],
      promotionsAt: '04:59',
      commissionsAt: '01:00',
    },
  ],
  [
    'restated since, and a little more',
    'unexplained',
    'unexplained',
    {
      items: RESTATED,
      promotions: [{ ...SHOWN_BEFORE, revenue_incl_vat: '26.620001' }],
      commissions: [{ ...BOOKED_BEFORE, commission_open: '0.900001' }],
      promotionsAt: '04:59',
      commissionsAt: '04:59',
    },
  ],
  [
    'restated when the reports were fetched',
    'unexplained',
    'unexplained',
    {
      items: RESTATED,
      promotions: [SHOWN_BEFORE],
      commissions: [BOOKED_BEFORE],
      promotionsAt: '05:00',
      commissionsAt: '05:00',
    },
  ],
  [
    'restated twice since',
    'timing',
    'equal',
    {
      items: {
        ...RESTATED,
        'o1 i1': [...changed(APPROVED, { ...APPROVED, commission: '9' }), { from: '06:00', says: APPROVED }],
      },
      promotions: [SHOWN_BEFORE],
      promotionsAt: '04:00',
    },
  ],
  ['ordered since', 'timing', 'timing', { items: LATE, promotionsAt: '04:00', commissionsAt: '04:00' }],
  [
    'ordered since, of a group that was not there',
    'timing',
    'timing',
    {
      items: { 'o1 i1': always({ ...APPROVED, sub_id: 'b' }), 'o1 i2': [{ from: '05:00', says: OPEN }] },
      promotions: [{ ...SHOWN, sub_id: 'b', commission: '0.75', revenue_excl_vat: '10', revenue_incl_vat: '12.1' }],
      commissions: [{ ...HALF, sub_id: 'b', commission_approved: '0.75', commission_open: '0' }],
      promotionsAt: '04:00',
      commissionsAt: '04:00',
    },
  ],
  ['ordered before the reports', 'unexplained', 'unexplained', { items: LATE }],
  [
    'moved to another sub-ID since',
    'missing_sub_id',
    'missing_sub_id',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, elsewhere(OPEN)) },
      promotionsAt: '04:00',
      commissionsAt: '04:00',
      promotions: [{ ...SHOWN, orders: '2' }],
    },
  ],
  [
    'moved to another name since',
    'timing',
    'timing',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': changed(OPEN, { ...OPEN, name: 'x' }) },
      promotionsAt: '04:00',
      commissionsAt: '04:00',
    },
  ],
  [
    'moved to another day since',
    'timing',
    'timing',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': [...always(OPEN), { from: '05:00', says: OPEN, by: 400 }] },
      promotions: [SHOWN],
      promotionsAt: '04:00',
      commissionsAt: '04:00',
    },
  ],
  [
    'gone since, and back',
    'equal',
    'equal',
    {
      items: { 'o1 i1': always(APPROVED), 'o1 i2': [...changed(OPEN, null, '03:00'), { from: '05:00', says: OPEN }] },
      promotionsAt: '04:00',
    },
  ],
  [
    'told before the orders of the day were known',
    'unexplained',
    'unexplained',
    { promotions: [], commissions: [], promotionsAt: '00:59', commissionsAt: '00:59' },
  ],
  ['no promotions at all', 'unexplained', 'equal', { promotions: [] }],
  ['no orders at all', 'unexplained', 'unexplained', { items: {} }],
  ['no commissions at all', 'equal', 'unexplained', { commissions: [] }],
  [
    'other VAT here, another rate there',
    'vat',
    'rate',
    { promotions: [{ ...SHOWN, revenue_incl_vat: '20' }], commissions: [{ ...BOOKED, commission_original: '9' }] },
  ],
];

export const dayOf = (index: number): Day => addDays(FIRST, index);

/** The slices of a case on its day. Ids of orders are its own. */
export function slicesOf(maker: SliceMaker, on: Day, told: Told): Promise<LoadSlice>[] {
  const { items = TWO_ITEMS, promotions: shown = [SHOWN], commissions: booked = [BOOKED] } = told;
  const at = (time = '23:00') => `${addDays(on, 1)}T${time}:00.000Z`;
  const content = (time?: string) => ({ content: { fetched_at: at(time) } });
  const seen = Object.entries(items).map(([name, sights]) => {
    const [order = '', item = ''] = name.split(' ');
    return {
      order_id: `${on} ${order}`,
      order_item_id: item,
      sights: sights.map(({ from, says, by = 0 }) => ({ at: at(from), on: addDays(on, by), values: says })),
    };
  });
  return [
    ...(seen.length === 0 ? [maker.make(orders, on, [], content())] : orderSlices(maker, seen, content())),
    ...(shown ? [maker.make(promotions, on, shown, content(told.promotionsAt))] : []),
    ...(booked ? [maker.make(commissions, on, booked, content(told.commissionsAt))] : []),
  ];
}
