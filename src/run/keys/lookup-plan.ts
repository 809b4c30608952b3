/**
 * What a night asks a look-up for, from the list of EANs and what was asked before. Reasons:
 *   new       never asked
 *   due       not asked in the last `freshHours`, in the order of the list, new ones among them
 * and where keys are asked by age (see `EanKeys.isByAge`), in the order in which the night's budget is spent, behind new ones:
 *   oldest    found, and not asked for `refreshDays`
 *   missing   not found so far; asked ever more rarely, after 7, 14, 28 … 180 days
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { eanKeysOf, type Pipeline } from '../../core/pipeline.ts';
import type { EanKeys, Key, LookupSettings } from '../../core/source.ts';
import { FileSink } from '../../disk/sink.ts';
import { type Engine, quoteName, quoteText } from '../../engine/duckdb.ts';
import type { ListedEan } from '../../extract/ean-list.ts';
import { callOf } from '../../partner/settings.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { readAsked } from './asked.ts';
import { eanQuestions } from './ean-questions.ts';
import type { KeysPlan } from './keys-plan.ts';

/** Lines handed to the file at once. */
const LINES_A_WRITE = 10_000;
/** First pause after a look-up that found nothing, doubled each time, and the longest. */
const FIRST_MISS_DAYS = 7;
const LONGEST_MISS_DAYS = 180;

/** A key of a look-up by EAN. */
export interface EanKey extends Key {
  readonly ean: string;
}

export interface EanPlan extends KeysPlan {
  readonly keys: readonly EanKey[];
  readonly keysPerCall: number;
}

/** The keys that are due, as many as the night may ask. Calls nothing; `folder` is scratch space. */
export async function planEans(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
): Promise<EanPlan> {
  const settings = settingsOf<LookupSettings>(context, pipeline);
  const { callsPerNight: callsAllowed } = settings;
  const keysOf = eanKeysOf(pipeline);
  const variants = keysOf.variants === 'listed' ? 'listed' : keysOf.variants(settings);
  const keysPerCall = keysOf.keysPerCall(callOf(context.calls, pipeline));
  const { list, notes } = await eanQuestions(context, pipeline);
  const scratch = path.join(folder, `${pipeline.name}-list`);
  try {
    await loadList(engine, list.questions, scratch);
    await readAsked(engine, context, pipeline, folder);
    const sql = dueSql(context, pipeline, variants, keysOf);
    const counts = await engine.rows(`SELECT reason, count(*) AS n FROM (${sql}) GROUP BY reason ORDER BY reason`);
    const due = Object.fromEntries(counts.map((row) => [String(row.reason), Number(row.n)]));
    const total = Object.values(due).reduce((sum, n) => sum + n, 0);
    const rows = await engine.rows(
      `SELECT place, variant FROM (${sql}) ORDER BY rank LIMIT ${callsAllowed * keysPerCall}`,
    );
    const keys = rows.map((row): EanKey => {
      const { ean, ...listed } = list.questions[Number(row.place)]!;
      return variants === 'listed' ? { ean, ...listed } : { ean, ...variants[Number(row.variant)] };
    });
    const listed = Number((await engine.row(`SELECT count(*) AS n FROM (${keysSql(variants)})`)).n);
    // Where only the EAN counts, it does not matter what is wrong with the rest of its line.
    const rejects = variants === 'listed' ? list.rejects : list.rejects.filter(({ reason }) => reason === 'bad_ean');
    const leftOut = total - keys.length;
    const calls = Math.ceil(keys.length / keysPerCall);
    const details = { lookups: { listed, due, left_out: leftOut, rejects: rejects.length, notes } };
    const plan = { pipeline, calls, isDue: calls > 0, slices: 0, details, leftOut, callsAllowed, rejects, notes };
    return { ...plan, drift: [], keys, keysPerCall };
  } finally {
    for (const table of ['listed', 'asked']) await engine.run(`DROP TABLE IF EXISTS ${table}`);
    await rm(scratch, { force: true });
  }
}

async function loadList(engine: Engine, questions: readonly ListedEan[], scratch: string): Promise<void> {
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

type Variants = 'listed' | readonly Key[];

/** A row for every key: its place in the list, its variant, and its members. */
function keysSql(variants: Variants): string {
  if (variants === 'listed') return 'SELECT place, 0 AS variant, ean, condition, price FROM listed';
  const members = Object.keys(variants[0] ?? {});
  const rows = variants.map((variant, i) => `(${[i, ...members.map((name) => valueSql(variant[name]))].join(', ')})`);
  const names = ['variant', ...members.map(quoteName)].join(', ');
  return `SELECT l.place, m.*, l.ean FROM (SELECT ean, min(place) AS place FROM listed GROUP BY ean) AS l
    CROSS JOIN (VALUES ${rows.join(', ')}) AS m(${names})`;
}

function valueSql(value: string | null | undefined): string {
  return value == null ? 'NULL' : quoteText(value);
}

/** The due keys with `place`, `variant`, `reason` and `rank`; the order of the list is the order of value. */
function dueSql(context: RunContext, pipeline: Pipeline, variants: Variants, { isByAge }: EanKeys): string {
  const { freshHours, refreshDays = 0 } = settingsOf<LookupSettings>(context, pipeline);
  const nowMs = context.clock.now();
  const columns = pipeline.columns.filter(({ origin }) => origin === 'request');
  const same = columns.map(({ field, column }) => `a.${quoteName(column)} IS NOT DISTINCT FROM k.${quoteName(field)}`);
  const found = `FROM (${keysSql(variants)}) AS k LEFT JOIN asked AS a ON ${same.join(' AND ')}`;
  const isFresh = `a.asked_at > ${before(nowMs, freshHours)}`;
  if (!isByAge)
    return `SELECT k.place, k.variant, row_number() OVER (ORDER BY k.place, k.variant) AS rank,
        CASE WHEN a.ean IS NULL THEN 'new' ELSE 'due' END AS reason
      ${found} WHERE a.ean IS NULL OR NOT ${isFresh}`;
  const waitDays = `least(${FIRST_MISS_DAYS} * pow(2, least(a.misses, 10) - 1), ${LONGEST_MISS_DAYS})::BIGINT`;
  return `SELECT place, variant, reason,
      row_number() OVER (ORDER BY reason <> 'new', CASE WHEN reason = 'new' THEN NULL ELSE asked_at END, place, variant) AS rank
    FROM (
      SELECT k.place, k.variant, a.asked_at,
        CASE WHEN a.ean IS NULL THEN 'new' WHEN a.outcome = 'found' THEN 'oldest' ELSE 'missing' END AS reason
      ${found}
      WHERE a.ean IS NULL OR (NOT ${isFresh} AND
        CASE WHEN a.outcome = 'found' THEN a.asked_at <= ${before(nowMs, refreshDays * 24)}
          ELSE a.asked_at + to_days(${waitDays}::INTEGER) <= TIMESTAMPTZ ${quoteText(isoTime(nowMs))} END))`;
}

function before(nowMs: number, hours: number): string {
  return `TIMESTAMPTZ ${quoteText(isoTime(nowMs - hours * 3_600_000))}`;
}
