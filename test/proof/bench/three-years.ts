/**
 * Years of a partner's business as slices, made by DuckDB itself: order items with their versions, the two other reports as sums of
 * them, the rates and titles of what was sold, and reductions. What the three reports say agrees to the cent. Everything follows
 * from the day, the item's number and `asOf`, the day up to which the service was asked: an item is decided 7 to 30 days after its
 * order, and paid 30 to 49 days after that.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { commissionRates } from '../../../pipelines/commission-rates.ts';
import { commissions } from '../../../pipelines/commissions.ts';
import { orderItemVersions, orders } from '../../../pipelines/orders.ts';
import { products } from '../../../pipelines/products.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { reductions, reductionsFiles } from '../../../pipelines/reductions.ts';
import { DUCKDB_TYPE } from '../../../src/core/columns.ts';
import { addDays, type Day, dayNumber } from '../../../src/core/days.ts';
import { type Pipeline, storedColumns } from '../../../src/core/pipeline.ts';
import { type Engine, quoteName, quoteText } from '../../../src/engine/duckdb.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { contentOf } from './history.ts';

/** Column → SQL. What is left out is NULL. */
type Values = Readonly<Record<string, string>>;

const PRODUCTS = 20_000;
const LINES_A_FILE = 50_000;
const PLACE = ['site_code', 'site_name', 'frame_type', 'name', 'sub_id'] as const;
const LABELS = PLACE.join(', ');

export class ThreeYears {
  private readonly engine: Engine;
  private readonly dir: string;
  private readonly itemsADay: number;
  private made = 0;

  constructor(engine: Engine, dir: string, itemsADay: number) {
    this.engine = engine;
    this.dir = dir;
    this.itemsADay = itemsADay;
  }

  /** The slices of four pipelines for each day, as the service told them on `asOf`. */
  async reports(days: readonly Day[], asOf: Day): Promise<LoadSlice[]> {
    const slices: LoadSlice[] = [];
    for (const day of days) {
      await this.engine.run(`CREATE OR REPLACE TEMP TABLE item AS ${items(day, asOf, this.itemsADay)}`);
      const versions = VERSIONS.map((v) => select(orderItemVersions, versionValues(day, v), `item WHERE ${v.when}`));
      slices.push(
        await this.slice(orders, day, asOf, select(orders, itemValues(day), 'item')),
        await this.slice(orderItemVersions, day, asOf, versions.join(' UNION ALL ')),
        await this.slice(promotions, day, asOf, `${select(promotions, SHOWN(day), 'item')} GROUP BY ${LABELS}`),
        await this.slice(commissions, day, asOf, `${select(commissions, BOOKED(day), 'item')} GROUP BY ${LABELS}`),
      );
    }
    return slices;
  }

  /** Titles on the first day, rates on three days, a reductions file every 60 days. */
  async lookups(from: Day, days: number): Promise<LoadSlice[]> {
    const slices = [await this.slice(products, from, from, select(products, PRODUCT(from), `range(${PRODUCTS}) t(p)`))];
    for (const [edition, share] of [0, 1 / 3, 2 / 3].entries()) {
      const day = addDays(from, Math.round(days * share));
      slices.push(
        await this.slice(
          commissionRates,
          day,
          day,
          select(commissionRates, RATE(day, edition), `range(${PRODUCTS}) t(p)`),
        ),
      );
    }
    for (let past = 0; past < days; past += 60) {
      const day = addDays(from, past);
      const before = past === 0 ? null : addDays(day, -60);
      const came = select(reductions, LINE(day, day, true), `range(${LINES_A_FILE}) t(p)`);
      const gone =
        before === null
          ? ''
          : ` UNION ALL ${select(reductions, LINE(day, before, false), `range(${LINES_A_FILE}) t(p)`)}`;
      slices.push(
        await this.slice(reductions, day, day, came + gone),
        await this.slice(reductionsFiles, day, day, select(reductionsFiles, FILE(day), '(SELECT 1)')),
      );
    }
    return slices;
  }

  private async slice(pipeline: Pipeline, day: Day, asOf: Day, rows: string): Promise<LoadSlice> {
    await mkdir(this.dir, { recursive: true });
    this.made += 1;
    const file = path.join(this.dir, `${this.made}.parquet`);
    // Sorted as the lake's files are: how rows lie in a warehouse follows from it.
    const order = pipeline.sort.map(quoteName).join(', ');
    await this.engine.run(`COPY (${rows} ORDER BY ${order}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd)`);
    const content = { ...(await contentOf(this.engine, pipeline, day, file)), fetched_at: `${asOf}T03:00:00.000Z` };
    return { pipeline, content, file, rejectsFile: null };
  }
}

function select(pipeline: Pipeline, values: Values, from: string): string {
  const all: Values = { fetch_id: `'f0bench'`, ...values };
  const columns = storedColumns(pipeline).map(
    (c) => `CAST(${all[c.column] ?? 'NULL'} AS ${DUCKDB_TYPE[c.kind]}) AS ${quoteName(c.column)}`,
  );
  return `SELECT ${columns.join(', ')} FROM ${from}`;
}

/** A row an item: its names, amounts, and the days on which it was decided and paid, if it was by `asOf`. */
function items(day: Day, asOf: Day, count: number): string {
  const first = dayNumber(day) * 10_000_000;
  return `SELECT *, CASE WHEN decided_on > DATE '${asOf}' THEN 'open' WHEN is_refused THEN 'rejected' ELSE 'approved' END AS status_group,
      NOT is_refused AND paid_on <= DATE '${asOf}' AS is_paid, incl * 100 // 121 AS excl,
      round((incl * 100 // 121) * quantity * 5 / 100.0) AS commission
    FROM (
      SELECT i, (${first} + i // 2)::VARCHAR AS order_id, (${first} + i)::VARCHAR AS order_item_id, p,
        'site ' || (i % 4) AS site_name, (1000 + i % 4)::VARCHAR AS site_code, 'text-link' AS frame_type,
        'campagne ' || (i % 50) AS name, 'sub_' || (i * 13 % 1000) AS sub_id, 1 + h % 3 AS quantity,
        500 + (p * 37) % 20000 AS incl, h // 7 % 100 >= 86 AS is_refused,
        DATE '${day}' + (7 + h % 24)::INTEGER AS decided_on, DATE '${day}' + (37 + h % 24 + h // 31 % 20)::INTEGER AS paid_on
      FROM (SELECT i, (i * 7919 + ${dayNumber(day)} * 31) % ${PRODUCTS} AS p, hash(i + ${first}) % 1000003 AS h FROM range(${count}) t(i))
    )`;
}

const cents = (amount: string) => `(${amount}) / 100.0`;

function itemValues(day: Day): Values {
  return {
    order_date: `DATE '${day}'`,
    order_date_time: `'${day} 12:00:00'`,
    order_id: 'order_id',
    order_item_id: 'order_item_id',
    product_title: `'Een mooi product met een titel, nummer ' || p`,
    product_id: `'93' || lpad(p::VARCHAR, 14, '0')`,
    chunk_name: `'groep ' || (p % 20)`,
    ...Object.fromEntries(PLACE.map((label) => [label, label])),
    status: `CASE status_group WHEN 'open' THEN 'Open' WHEN 'rejected' THEN 'Geweigerd' ELSE 'Geaccepteerd' END`,
    status_group: 'status_group',
    quantity: 'quantity',
    price_excl_vat: cents('excl'),
    price_incl_vat: cents('incl'),
    commission_percentage: '5',
    commission: cents('commission'),
    status_final: `status_group <> 'open'`,
    approved_for_payment: 'is_paid',
    order_local_time: `TIMESTAMP '${day} 12:00:00'`,
    order_utc_time: `TIMESTAMPTZ '${day} 11:00:00+00'`,
  };
}

interface ItemVersion {
  /** SQL: which items have it; since which day; what differs from how the item is now. */
  readonly when: string;
  readonly since: (day: Day) => string;
  readonly values: Values;
}

const VERSIONS: readonly ItemVersion[] = [
  {
    when: 'true',
    since: (day) => `DATE '${addDays(day, 1)}'`,
    values: { status: `'Open'`, status_group: `'open'`, status_final: 'false', approved_for_payment: 'false' },
  },
  { when: `status_group <> 'open'`, since: () => 'decided_on', values: { approved_for_payment: 'false' } },
  { when: 'is_paid', since: () => 'paid_on', values: {} },
];

function versionValues(day: Day, { since, values }: ItemVersion): Values {
  const observed = { observed_on: since(day), observed_from: `${since(day)} + INTERVAL 3 HOUR`, is_present: 'true' };
  return { ...itemValues(day), ...values, ...observed };
}

const labels: Values = Object.fromEntries(PLACE.map((label) => [label, label]));

const SHOWN = (day: Day): Values => ({
  promotion_date: `DATE '${day}'`,
  ...labels,
  clicks: 'count(*) * 20',
  impressions: 'count(*) * 400',
  orders: 'count(DISTINCT order_id)',
  commission: cents('sum(commission)'),
  revenue_excl_vat: cents('sum(excl * quantity)'),
  revenue_incl_vat: cents('sum(incl * quantity)'),
});

const only = (amount: string, group: string) => cents(`coalesce(sum(${amount}) FILTER (status_group = '${group}'), 0)`);

const BOOKED = (day: Day): Values => ({
  order_date: `DATE '${day}'`,
  ...labels,
  commission_percentage: '5',
  commission_original: cents('sum(commission)'),
  commission_approved: only('commission', 'approved'),
  commission_open: only('commission', 'open'),
  revenue_original_excl_vat: cents('sum(excl * quantity)'),
  revenue_original_incl_vat: cents('sum(incl * quantity)'),
  revenue_approved_excl_vat: only('excl * quantity', 'approved'),
  revenue_approved_incl_vat: only('incl * quantity', 'approved'),
  revenue_open_excl_vat: only('excl * quantity', 'open'),
  revenue_open_incl_vat: only('incl * quantity', 'open'),
  quantity_payable: `sum(quantity)`,
});

const EAN = `'87' || lpad(p::VARCHAR, 11, '0')`;
const seen = (day: Day): Values => ({
  observed_on: `DATE '${day}'`,
  observed_from: `TIMESTAMPTZ '${day} 03:00:00+00'`,
});

const PRODUCT = (day: Day): Values => ({
  ean: EAN,
  country_code: `'NL'`,
  language: `'nl'`,
  ...seen(day),
  outcome: `'found'`,
  bol_product_id: `'93' || lpad(p::VARCHAR, 14, '0')`,
  title: `'Een mooi product met een titel, nummer ' || p`,
  offer_price: cents('500 + (p * 37) % 20000'),
});

const RATE = (day: Day, edition: number): Values => ({
  ean: EAN,
  condition: `'NEW'`,
  ...seen(day),
  outcome: `'found'`,
  fixed_amount: '0.2',
  percentage: `3 + (p + ${edition}) % 3`,
});

const LINE = (day: Day, campaign: Day, isPresent: boolean): Values => ({
  ean: EAN,
  maximum_price: `10 + p % 90`,
  cost_reduction: '0.5 + p // 20000 * 0.1',
  start_date: `DATE '${campaign}' + (p % 20)::INTEGER`,
  end_date: `DATE '${campaign}' + (p % 20 + 7 + p % 30)::INTEGER`,
  ...seen(day),
  file_name: `'Verlaging_${day}.csv'`,
  is_present: String(isPresent),
});

const FILE = (day: Day): Values => ({
  file_name: `'Verlaging_${day}.csv'`,
  asked_name: `'Verlaging_${day}.csv'`,
  sha256: `'${day}'`,
  bytes: '13000000',
  lines: String(LINES_A_FILE),
  is_same_content: 'false',
  ...seen(day),
});
