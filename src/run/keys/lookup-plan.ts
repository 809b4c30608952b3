/**
 * What a night asks look-ups for, from the list of EANs and what was asked before. Reasons, in the order in which the budget of a
 * night is spent:
 *   new       never asked
 *   due       commission rates: not asked in the last `freshHours`, in the order of the list, new ones among them
 *   oldest    products: found, and not asked for `refreshDays`
 *   missing   products: not found so far; asked ever more rarely, after 7, 14, 28 … 180 days
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { FileSink } from '../../disk/sink.ts';
import { type Engine, quoteText, type Row } from '../../engine/duckdb.ts';
import type { EanReject } from '../../extract/ean-list.ts';
import type { CommissionQuestion, ProductQuestion } from '../../partner/lookups.ts';
import type { RunContext } from '../context.ts';
import { readAsked } from './asked.ts';
import { type EanQuestions, eanQuestions } from './ean-questions.ts';
import type { KeysPlan } from './keys-plan.ts';

/** Lines handed to the file at once. */
const LINES_A_WRITE = 10_000;
/** First pause after a look-up that found nothing, doubled each time, and the longest. */
const FIRST_MISS_DAYS = 7;
const LONGEST_MISS_DAYS = 180;

export interface CommissionPlan extends KeysPlan {
  readonly questions: readonly CommissionQuestion[];
}

export interface ProductPlan extends KeysPlan {
  readonly questions: readonly ProductQuestion[];
}

/** Commission rates: every EAN of the list that was not asked lately, in the order of the list. Calls nothing; `folder` is scratch space. */
export async function planCommissions(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
): Promise<CommissionPlan> {
  const { commissionRates, eansPerRequest } = context.lookups;
  const found = await dueOf({ context, engine, pipeline, folder }, commissionDue(context), {
    wanted: 'place',
    perCall: eansPerRequest,
    callsAllowed: commissionRates.callsPerNight,
  });
  const { questions, rejects } = found.list;
  return {
    ...planOf(pipeline, found, { listed: questions.length, rejects }),
    questions: found.rows.map((row) => questions[Number(row.place)]!),
  };
}

/** Products: every EAN of the list in every market, each as often as it is worth it. Calls nothing; `folder` is scratch space. */
export async function planProducts(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
): Promise<ProductPlan> {
  const { products } = context.lookups;
  const found = await dueOf({ context, engine, pipeline, folder }, productDue(context), {
    wanted: 'ean, country_code, language',
    perCall: 1,
    callsAllowed: products.callsPerNight,
  });
  const listed = found.eans * products.markets.length;
  const rejects = found.list.rejects.filter(({ reason }) => reason === 'bad_ean');
  return { ...planOf(pipeline, found, { listed, rejects }), questions: found.rows.map(productQuestion) };
}

interface Planning {
  readonly context: RunContext;
  readonly engine: Engine;
  readonly pipeline: Pipeline;
  readonly folder: string;
}

interface NightBudget {
  /** Columns of the question. */
  readonly wanted: string;
  readonly perCall: number;
  readonly callsAllowed: number;
}

interface Due extends NightBudget {
  readonly list: EanQuestions['list'];
  readonly notes: readonly string[];
  readonly eans: number;
  readonly due: Readonly<Record<string, number>>;
  readonly total: number;
  /** As many as the night may ask. */
  readonly rows: readonly Row[];
}

/** `sql`: what is due of the tables `listed` and `asked`, with its reason and rank. */
async function dueOf({ context, engine, pipeline, folder }: Planning, sql: string, budget: NightBudget): Promise<Due> {
  const { list, notes } = await eanQuestions(context);
  const scratch = path.join(folder, `${pipeline.name}-list`);
  try {
    await loadList(engine, list.questions, scratch);
    await readAsked(engine, context, pipeline);
    const counts = await engine.rows(`SELECT reason, count(*) AS n FROM (${sql}) GROUP BY reason ORDER BY reason`);
    const due = Object.fromEntries(counts.map((row) => [String(row.reason), Number(row.n)]));
    const total = Object.values(due).reduce((sum, n) => sum + n, 0);
    const { wanted, callsAllowed, perCall } = budget;
    const rows = await engine.rows(`SELECT ${wanted} FROM (${sql}) ORDER BY rank LIMIT ${callsAllowed * perCall}`);
    const { n } = await engine.row('SELECT count(DISTINCT ean) AS n FROM listed');
    return { ...budget, list, notes, eans: Number(n), due, total, rows };
  } finally {
    for (const table of ['listed', 'asked']) await engine.run(`DROP TABLE IF EXISTS ${table}`);
    await rm(scratch, { force: true });
  }
}

function planOf(
  pipeline: Pipeline,
  { due, total, rows, perCall, callsAllowed, notes }: Due,
  { listed, rejects }: { readonly listed: number; readonly rejects: readonly EanReject[] },
): KeysPlan {
  const leftOut = total - rows.length;
  const calls = Math.ceil(rows.length / perCall);
  const details = { lookups: { listed, due, left_out: leftOut, rejects: rejects.length, notes } };
  return { pipeline, calls, isDue: calls > 0, slices: 0, details, leftOut, callsAllowed, rejects, notes, drift: [] };
}

async function loadList(engine: Engine, questions: readonly CommissionQuestion[], scratch: string): Promise<void> {
  await engine.run(
    'CREATE OR REPLACE TABLE listed (place BIGINT, ean VARCHAR, condition VARCHAR, price DECIMAL(18,6))',
  );
  if (questions.length === 0) return;
  await mkdir(path.dirname(scratch), { recursive: true });
  const sink = await FileSink.open(scratch);
  try {
    for (let from = 0; from < questions.length; from += LINES_A_WRITE) {
      const some = questions.slice(from, from + LINES_A_WRITE);
      const lines = some.map(({ ean, condition, price }, i) => `${from + i},${ean},${condition},${price ?? ''}\n`);
      await sink.write(Buffer.from(lines.join('')));
    }
  } finally {
    await sink.close();
  }
  await engine.run(
    `INSERT INTO listed SELECT * FROM read_csv(${quoteText(scratch)}, header = false, auto_detect = false, delim = ',',
       columns = {place: 'BIGINT', ean: 'VARCHAR', condition: 'VARCHAR', price: 'DECIMAL(18,6)'})`,
  );
}

/** In the order of the list: it is the order of value. */
function commissionDue({ lookups, clock }: RunContext): string {
  return `SELECT l.place, l.place AS rank, CASE WHEN a.ean IS NULL THEN 'new' ELSE 'due' END AS reason
    FROM listed AS l LEFT JOIN asked AS a ON a.ean = l.ean AND a.condition = l.condition AND a.asked_price IS NOT DISTINCT FROM l.price
    WHERE a.ean IS NULL OR a.asked_at <= ${before(clock.now(), lookups.commissionRates.freshHours)}`;
}

function productDue({ lookups, clock }: RunContext): string {
  const { markets, freshHours, refreshDays } = lookups.products;
  const nowMs = clock.now();
  const values = markets.map(({ country, language }, i) => `(${i}, ${quoteText(country)}, ${quoteText(language)})`);
  const waitDays = `least(${FIRST_MISS_DAYS} * pow(2, least(a.misses, 10) - 1), ${LONGEST_MISS_DAYS})::BIGINT`;
  const now = `TIMESTAMPTZ ${quoteText(isoTime(nowMs))}`;
  return `SELECT ean, country_code, language, reason, row_number() OVER (ORDER BY reason <> 'new', CASE WHEN reason = 'new' THEN NULL ELSE asked_at END, place, market) AS rank
    FROM (
      SELECT l.ean, m.country_code, m.language, m.market, l.place, a.asked_at,
        CASE WHEN a.ean IS NULL THEN 'new' WHEN a.outcome = 'found' THEN 'oldest' ELSE 'missing' END AS reason
      FROM (SELECT ean, min(place) AS place FROM listed GROUP BY ean) AS l
        CROSS JOIN (VALUES ${values.join(', ')}) AS m(market, country_code, language)
        LEFT JOIN asked AS a ON a.ean = l.ean AND a.country_code = m.country_code AND a.language = m.language
      WHERE a.ean IS NULL OR (a.asked_at <= ${before(nowMs, freshHours)} AND
        CASE WHEN a.outcome = 'found' THEN a.asked_at <= ${before(nowMs, refreshDays * 24)}
          ELSE a.asked_at + to_days(${waitDays}::INTEGER) <= ${now} END))`;
}

function before(nowMs: number, hours: number): string {
  return `TIMESTAMPTZ ${quoteText(isoTime(nowMs - hours * 3_600_000))}`;
}

function productQuestion(row: Row): ProductQuestion {
  return { ean: String(row.ean), country: String(row.country_code), language: String(row.language) };
}
