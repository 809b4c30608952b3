/**
 * Every question of sql/questions has the same answer in both warehouses, and it is the one that follows from what the sandbox held
 * to be true at each night of the scene.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunContext } from '../../../src/run/context.ts';
import { readQuestions } from '../../../src/warehouse/dictionary/questions.ts';
import type { SqlDialect } from '../../../src/warehouse/target-name.ts';
import { type Database, freshDatabase } from '../../support/postgres-database.ts';
import * as forecast from '../../support/question-forecast.ts';
import * as histories from '../../support/question-histories.ts';
import * as rates from '../../support/question-rates.ts';
import * as reports from '../../support/question-reports.ts';
import { playScene, type Scene } from '../../support/question-scene.ts';
import * as sums from '../../support/question-sums.ts';

const TRUTHS: Readonly<Record<string, (scene: Scene) => histories.Answer>> = {
  last_month_and_how_much_is_safe: histories.lastMonthByState,
  pending_for_more_than_60_days: histories.pending,
  why_did_last_month_change: histories.whyLastMonthChanged,
  biggest_changes_of_the_last_week: histories.biggestChanges,
  sites_by_earnings_per_click: sums.sitesByEarningsPerClick,
  best_sub_ids: reports.bestSubIds,
  clicks_without_orders: sums.clicksWithoutOrders,
  approved_but_not_paid: sums.approvedButNotPaid,
  where_orders_are_turned_down: sums.turnedDown,
  how_long_until_paid: histories.daysUntilPaid,
  what_will_be_paid_when: forecast.whatWillBePaid,
  do_the_reports_agree: reports.doTheReportsAgree,
  items_below_their_rate: rates.belowTheirRate,
  rate_changes_and_their_effect: rates.rateChanges,
  reductions_on_what_i_sell: rates.reductionsOnSales,
  price_cuts_that_pay: rates.cutsThatPay,
  is_everything_here: sums.isEverythingHere,
  last_month_as_known_then_and_now: histories.lastMonthThenAndNow,
  weekends_and_holidays: sums.weekendsAndHolidays,
  best_products: sums.bestProducts,
};

/** More rows than any answer may have. */
const LIMIT = 100;

let database: Database;
let scene: Scene;
beforeAll(async () => {
  database = await freshDatabase();
  scene = await playScene(database.url);
}, 600_000);
afterAll(async () => {
  await scene.world.close();
  await database.drop();
});

const answerOf = (slug: string, name: SqlDialect) =>
  scene.world.within(async ({ targets }: RunContext) => {
    const target = targets.find((one) => one.name === name);
    const question = (await readQuestions(name)).find((one) => one.slug === slug);
    if (!target || !question) throw new Error(`there is no ${slug} for ${name}`);
    return target.query(question.sql, LIMIT);
  });

it.each(Object.keys(TRUTHS))('%s', async (slug) => {
  const [duckdb, postgres] = [await answerOf(slug, 'duckdb'), await answerOf(slug, 'postgres')];
  expect(postgres).toEqual(duckdb);
  expect(duckdb.rows).toEqual(TRUTHS[slug]!(scene));
  expect(duckdb.rows.length).toBeGreaterThan(0);
  expect(duckdb.rows.length).toBeLessThanOrEqual(50);
});

it('each of the twenty is asked here, with every engine', async () => {
  for (const name of ['duckdb', 'postgres'] as const) {
    const questions = await readQuestions(name);
    expect(questions.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(questions.map(({ slug }) => slug).sort()).toEqual(Object.keys(TRUTHS).sort());
  }
});
