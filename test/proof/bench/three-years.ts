/**
 * Years of a partner's business as slices, made by DuckDB itself: order items with their history, the two other reports as sums of
 * them, the rates and titles of what was sold, and reductions. What the three reports say agrees to the cent. Everything follows
 * from the day, the item's number and `asOf`, the day up to which the service was asked: an item is decided 7 to 30 days after its
 * order, and paid 30 to 49 days after that.
 */

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { commissionRates } from '../../../pipelines/commission-rates.ts';
import { commissions } from '../../../pipelines/commissions.ts';
import { orders } from '../../../pipelines/orders.ts';
import { products } from '../../../pipelines/products.ts';
import { promotions } from '../../../pipelines/promotions.ts';
import { reductions, reductionsFiles } from '../../../pipelines/reductions.ts';
import { DUCKDB_TYPE } from '../../../src/core/columns.ts';
import { addDays, type Day, type DayRange, dayNumber } from '../../../src/core/days.ts';
import { isStamped, type Pipeline, storedColumns, VALID_FROM } from '../../../src/core/pipeline.ts';
import { type Engine, quoteName, quoteText } from '../../../src/engine/duckdb.ts';
import type { LoadSlice } from '../../../src/warehouse/target.ts';
import { commissionRateHistory, orderHistory, reductionHistory } from '../../support/history-tables.ts';
import { contentOf } from './history.ts';

/** Column → SQL. What is left out is NULL. */
type Values = Readonly<Record<string, string>>;

const PRODUCTS = 20_000;
const LINES_A_FILE = 50_000;
const DAYS_A_FETCH = 10;
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

  /** The slices of the three reports for each day, as the service told them on `asOf`. */
  async reports(days: readonly Day[], asOf: Day): Promise<LoadSlice[]> {
    const slices: LoadSlice[] = [];
    for (const day of days) {
      await this.items({ from: day, to: day }, asOf);
      slices.push(
        await this.slice(orders, day, asOf, select(orders, ITEM, 'item')),
        await this.slice(promotions, day, asOf, `${select(promotions, SHOWN(day), 'item')} GROUP BY ${LABELS}`),
        await this.slice(commissions, day, asOf, `${select(commissions, BOOKED(day), 'item')} GROUP BY ${LABELS}`),
      );
    }
    return slices;
  }

  /** What the items of `orderDays` were until one of `days`: a slice for each of these on which anything ended. */
  async histories(days: readonly Day[], orderDays: DayRange): Promise<LoadSlice[]> {
    const slices: LoadSlice[] = [];
    for (const day of days) {
      const earliest = addDays(day, -LAST_CHANGE);
      const from = earliest > orderDays.from ? earliest : orderDays.from;
      await this.items(
        { from, to: orderDays.to < day ? orderDays.to : day },
        day,
        `DATE '${day}' IN (decided_on, paid_on)`,
      );
      const ended = ENDED.map(({ when, values }) =>
        select(orderHistory, { ...ITEM, ...values, ...ENDS(day) }, `item WHERE ${when(day)}`),
      );
      slices.push(await this.slice(orderHistory, day, day, ended.join(' UNION ALL ')));
    }
    return slices.filter(({ content }) => content.rows > 0);
  }

  private async items(days: DayRange, asOf: Day, where = 'true'): Promise<void> {
    await this.engine.run(`CREATE OR REPLACE TEMP TABLE item AS ${items(days, asOf, this.itemsADay)} WHERE ${where}`);
  }

  /** Titles on the first day, rates on three days, a reductions file every 60 days. */
  async lookups(from: Day, days: number): Promise<LoadSlice[]> {
    const slices = [await this.slice(products, from, from, select(products, PRODUCT(from), `range(${PRODUCTS}) t(p)`))];
    const editions = [0, 1 / 3, 2 / 3].map((share) => addDays(from, Math.round(days * share)));
    for (const [edition, day] of editions.entries()) {
      const rate = RATE(day, edition);
      slices.push(await this.until(commissionRates, commissionRateHistory, day, rate, PRODUCTS, editions[edition + 1]));
    }
    for (let past = 0; past < days; past += 60) {
      const day = addDays(from, past);
      const next = past + 60 < days ? addDays(day, 60) : undefined;
      slices.push(
        await this.until(reductions, reductionHistory, day, LINE(day, day), LINES_A_FILE, next),
        await this.slice(reductionsFiles, day, day, select(reductionsFiles, FILE(day), '(SELECT 1)')),
      );
    }
    return slices;
  }

  /** Rows that hold since a day; where they held until `end`, the slice of the history on which they ended. */
  private until(pipeline: Pipeline, history: Pipeline, day: Day, row: Values, count: number, end: Day | undefined) {
    const from = `range(${count}) t(p)`;
    return end === undefined
      ? this.slice(pipeline, day, day, select(pipeline, row, from))
      : this.slice(history, end, end, select(history, { ...row, ...ENDS(end), ended_by: `'changed'` }, from));
  }

  private async slice(pipeline: Pipeline, day: Day, asOf: Day, rows: string): Promise<LoadSlice> {
    await mkdir(this.dir, { recursive: true });
    this.made += 1;
    const file = path.join(this.dir, `${this.made}.parquet`);
    // Sorted as the lake's files are: how rows lie in a warehouse follows from it.
    const order = pipeline.sort.map(quoteName).join(', ');
    // A fetch brings some days, and checks look at all days of a fetch: were it one for all, a night would look at years. A row that is as
    // it was stays with the fetch that brought it.
    const fetchId = `f0${asOf}-${Math.floor(dayNumber(day) / DAYS_A_FETCH)}`;
    const broughtBy = isStamped(pipeline) ? `'f0' || CAST(CAST(${VALID_FROM} AS DATE) AS VARCHAR)` : quoteText(fetchId);
    await this.engine.run(
      `COPY (SELECT * REPLACE (${broughtBy} AS fetch_id) FROM (${rows}) ORDER BY ${order})
       TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    const content = {
      ...(await contentOf(this.engine, pipeline, day, file)),
      fetch_id: fetchId,
      fetched_at: `${asOf}T03:00:00.000Z`,
    };
    return { pipeline, content, file, rejectsFile: null };
  }
}

function select(pipeline: Pipeline, values: Values, from: string): string {
  const columns = storedColumns(pipeline).map(
    (c) => `CAST(${values[c.column] ?? 'NULL'} AS ${DUCKDB_TYPE[c.kind]}) AS ${quoteName(c.column)}`,
  );
  return `SELECT ${columns.join(', ')} FROM ${from}`;
}

/** A row an item: its day and names, amounts, and the days on which it was decided and paid, if it was by `asOf`. */
function items({ from, to }: DayRange, asOf: Day, count: number): string {
  return `SELECT *, CASE WHEN decided_on > DATE '${asOf}' THEN 'open' WHEN is_refused THEN 'rejected' ELSE 'approved' END AS status_group,
      NOT is_refused AND paid_on <= DATE '${asOf}' AS is_paid, incl * 100 // 121 AS excl,
      round((incl * 100 // 121) * quantity * 5 / 100.0) AS commission
    FROM (
      SELECT i, order_date, (first + i // 2)::VARCHAR AS order_id, (first + i)::VARCHAR AS order_item_id, p,
        'site ' || (i % 4) AS site_name, (1000 + i % 4)::VARCHAR AS site_code, 'text-link' AS frame_type,
        'campagne ' || (i % 50) AS name, 'sub_' || (i * 13 % 1000) AS sub_id, 1 + h % 3 AS quantity,
        500 + (p * 37) % 20000 AS incl, h // 7 % 100 >= 86 AS is_refused,
        order_date + (7 + h % 24)::INTEGER AS decided_on, order_date + (37 + h % 24 + h // 31 % 20)::INTEGER AS paid_on
      FROM (
        SELECT i, first, order_date, (i * 7919 + n * 31) % ${PRODUCTS} AS p, hash(i + first) % 1000003 AS h
        FROM (
          SELECT n, n * 10000000 AS first, DATE '1970-01-01' + n::INTEGER AS order_date
          FROM range(${dayNumber(from)}, ${dayNumber(to) + 1}) t(n)
        ) AS days, range(${count}) t(i)
      )
    )`;
}

const cents = (amount: string) => `(${amount}) / 100.0`;

/** An item as it is on `asOf`. */
const ITEM: Values = {
  order_date: 'order_date',
  order_date_time: `order_date || ' 12:00:00'`,
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
  order_local_time: `order_date + INTERVAL 12 HOUR`,
  order_utc_time: `order_date + INTERVAL 11 HOUR`,
  valid_from: `CASE WHEN is_paid THEN paid_on WHEN status_group = 'open' THEN order_date + 1 ELSE decided_on END + INTERVAL 3 HOUR`,
};

interface EndedItem {
  /** SQL: which items were so until that day; what differs from how they are from then on. */
  readonly when: (day: Day) => string;
  readonly values: Values;
}

const ENDED: readonly EndedItem[] = [
  {
    when: (day) => `decided_on = DATE '${day}'`,
    values: {
      ...{ status: `'Open'`, status_group: `'open'`, status_final: 'false' },
      valid_from: `order_date + 1 + INTERVAL 3 HOUR`,
    },
  },
  {
    when: (day) => `paid_on = DATE '${day}' AND NOT is_refused`,
    values: { approved_for_payment: 'false', valid_from: `decided_on + INTERVAL 3 HOUR` },
  },
];

/** An item is paid so many days after its order at the latest. */
const LAST_CHANGE = 79;

const ENDS = (day: Day): Values => ({
  valid_to: `TIMESTAMPTZ '${day} 03:00:00+00'`,
  ended_by: `'changed'`,
  ended_on: `DATE '${day}'`,
});

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
  valid_from: `TIMESTAMPTZ '${day} 03:00:00+00'`,
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

const LINE = (day: Day, campaign: Day): Values => ({
  ean: EAN,
  maximum_price: `10 + p % 90`,
  cost_reduction: '0.5 + p // 20000 * 0.1',
  start_date: `DATE '${campaign}' + (p % 20)::INTEGER`,
  end_date: `DATE '${campaign}' + (p % 20 + 7 + p % 30)::INTEGER`,
  ...seen(day),
  file_name: `'Verlaging_${day}.csv'`,
});

const FILE = (day: Day): Values => ({
  file_name: `'Verlaging_${day}.csv'`,
  asked_name: `'Verlaging_${day}.csv'`,
  sha256: `'${day}'`,
  bytes: '13000000',
  lines: String(LINES_A_FILE),
  is_same_content: 'false',
  observed_on: `DATE '${day}'`,
  observed_from: `TIMESTAMPTZ '${day} 03:00:00+00'`,
});
