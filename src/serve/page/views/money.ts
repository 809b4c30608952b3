/** What was earned: curves for who has the script, sums by month and day for everybody, and whether the reports agree. */
import { html, type Markup } from '../../../core/markup.ts';
import type { MoneyDay, PageModel, ReconciliationRow } from '../model.ts';
import { amountText, countText, exactSum, partedBy, wordsOf } from './figures.ts';
import { type Column, none, section, table } from './pieces.ts';

const AMOUNTS = ['revenue', 'commission', 'commission_approved', 'commission_open'] as const;
const AMOUNT_COLUMNS: readonly Column[] = ['Revenue', 'Commission', 'Approved', 'Open'].map((title) => ({
  title,
  number: true,
}));
/** Days behind the curves that are listed one by one; older ones by month. */
const DAYS_LISTED = 31;

export function money({ money: days }: PageModel): Markup {
  const ranges = [
    ['90', '3 months'],
    ['365', '1 year'],
    ['0', 'All'],
  ] as const;
  const buttons = ranges.map(
    ([range, words]) => html`<button type="button" data-days="${range}" aria-pressed="false">${words}</button>\n`,
  );
  const curves = html`<div class="curves" id="curves" hidden>
<div class="ranges" role="group" aria-label="Time shown">${buttons}</div>
<figure><figcaption>Revenue per day</figcaption><div class="curve" id="curve-revenue"></div></figure>
<figure><figcaption>Commission per day</figcaption><div class="curve" id="curve-commission"></div></figure>
</div>`;
  return html`<section class="card" id="money" aria-labelledby="money-title">
<h2 id="money-title">Revenue and commission</h2>
<p class="about">Exact sums of the commissions report, by the day of the order.</p>
${days.length === 0 ? null : curves}
<div id="money-live" data-live>${days.length === 0 ? none('No commissions are loaded yet.') : sumTables(days)}</div>
</section>
`;
}

function sumTables(days: readonly MoneyDay[]): Markup {
  const newest = days.slice(-DAYS_LISTED).reverse();
  const byMonth = [...partedBy(days, ({ day }) => day.slice(0, 7))].reverse();
  return html`<details id="sums-by-month"><summary>Sums by month</summary>
${table({
  caption: 'Revenue and commission by month',
  columns: [{ title: 'Month' }, { title: 'Days', number: true }, ...AMOUNT_COLUMNS],
  rows: byMonth.map(([month, some]) => [month, countText(some.length), ...sumsOf(some)]),
})}</details>
<details id="sums-by-day"><summary>The last ${newest.length} days</summary>
${table({
  caption: 'Revenue and commission of the last days',
  columns: [{ title: 'Day' }, ...AMOUNT_COLUMNS],
  rows: newest.map((one) => [one.day, ...AMOUNTS.map((name) => amountText(one[name]))]),
})}</details>
`;
}

function sumsOf(days: readonly MoneyDay[]): string[] {
  return AMOUNTS.map((name) => amountText(exactSum(days.map((day) => day[name]))));
}

const DIFFERENCE_COLUMNS: readonly Column[] = [
  { title: 'Groups', number: true },
  { title: 'Commission apart', number: true },
  { title: 'Revenue apart', number: true },
];

export function reconciliation({ reconciliation: rows, reconciliation_error: error }: PageModel): Markup {
  return section({
    id: 'reconciliation',
    title: 'Reconciliation',
    about:
      'Whether the three reports agree, over the last 60 days: groups of site, tool, promotion and sub-ID by why they differ, and how far apart their amounts are.',
    body:
      rows === null
        ? html`<p class="problem">No warehouse could be asked: ${error ?? 'it is not there yet'}</p>`
        : differences(rows),
  });
}

function differences(rows: readonly ReconciliationRow[]): Markup {
  if (rows.length === 0) return none('Nothing to compare yet.');
  const classes = [...partedBy(rows, (row) => row.class)];
  const differing = rows.filter((row) => row.class !== 'equal');
  const days =
    differing.length === 0
      ? null
      : html`<details id="differences-by-day"><summary>By day</summary>
${table({
  caption: 'Differences of the reports by day and class',
  columns: [{ title: 'Day' }, { title: 'Why' }, ...DIFFERENCE_COLUMNS],
  rows: differing.map((row) => [row.day, wordsOf(row.class), ...amountsOf([row])]),
})}</details>`;
  return html`${table({
    caption: 'Differences of the reports by class',
    columns: [{ title: 'Why' }, { title: 'Days', number: true }, ...DIFFERENCE_COLUMNS],
    rows: classes.map(([name, some]) => [
      wordsOf(name),
      countText(new Set(some.map(({ day }) => day)).size),
      ...amountsOf(some),
    ]),
  })}${days}`;
}

function amountsOf(rows: readonly ReconciliationRow[]): string[] {
  return [
    countText(rows.reduce((sum, { groups }) => sum + groups, 0)),
    amountText(exactSum(rows.map((row) => row.commission_difference))),
    amountText(exactSum(rows.map((row) => row.revenue_difference))),
  ];
}
