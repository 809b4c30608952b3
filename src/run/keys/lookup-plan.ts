/**
 * What a night asks a look-up for, from the list of EANs and what was asked before. Reasons:
 *   new       never asked
 *   due       not asked in the last `freshHours`, in the order of the list, new ones among them
 * and where keys are asked by age (see `EanKeys.isByAge`), in the order in which the night's budget is spent, behind new ones:
 *   oldest    found, and not asked for `refreshDays`
 *   missing   not found so far; asked ever more rarely, after 7, 14, 28 … 180 days
 */
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { eanKeysOf, type Pipeline } from '../../core/pipeline.ts';
import type { EanKeys, Key, LookupSettings } from '../../core/source.ts';
import { FileSink } from '../../disk/sink.ts';
import { type Engine, quoteFile, quoteName, quoteText } from '../../engine/duckdb.ts';
import { callOf } from '../../partner/settings.ts';
import { type RunContext, settingsOf } from '../context.ts';
import { readAsked } from './asked.ts';
import { type EanQuestions, eanQuestions } from './ean-questions.ts';
import type { KeysPlan } from './keys-plan.ts';

/** Of the file of keys; some thousand keys. */
const READ_BYTES = 256 * 1024;
/** First pause after a look-up that found nothing, doubled each time, and the longest. */
const FIRST_MISS_DAYS = 7;
const LONGEST_MISS_DAYS = 180;

/** A key of a look-up by EAN. */
export interface EanKey extends Key {
  readonly ean: string;
}

export interface EanPlan extends KeysPlan {
  /** The keys in the order in which they are asked, a line each: a million of them as objects took 300 MB. In the folder of the plan. */
  readonly keysFile: string;
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
  const keysFile = path.join(folder, `${pipeline.name}-keys.ndjson`);
  await mkdir(folder, { recursive: true });
  try {
    const { rejects: refused, notes } = await loadList(context, engine, pipeline, folder);
    await readAsked(engine, context, pipeline, folder);
    const { rows, order } = dueSql(context, pipeline, variants, keysOf);
    await engine.run(`CREATE OR REPLACE TABLE due AS ${rows}`);
    const counts = await engine.rows('SELECT reason, count(*) AS n FROM due GROUP BY reason ORDER BY reason');
    const due = Object.fromEntries(counts.map((row) => [String(row.reason), Number(row.n)]));
    const total = Object.values(due).reduce((sum, n) => sum + n, 0);
    const members = ['ean', ...membersOf(variants)].map(quoteName).join(', ');
    const asked = await engine.run(
      `COPY (SELECT ${members} FROM due ORDER BY ${order} LIMIT ${callsAllowed * keysPerCall}) TO ${quoteText(keysFile)} (FORMAT json)`,
    );
    const listed = Number((await engine.row(`SELECT count(*) AS n FROM (${keysSql(variants)})`)).n);
    // Where only the EAN counts, it does not matter what is wrong with the rest of its line.
    const rejects = variants === 'listed' ? refused : refused.filter(({ reason }) => reason === 'bad_ean');
    const leftOut = total - asked;
    const calls = Math.ceil(asked / keysPerCall);
    const details = { lookups: { listed, due, left_out: leftOut, rejects: rejects.length, notes } };
    const plan = { pipeline, calls, isDue: calls > 0, slices: 0, details, leftOut, callsAllowed, rejects, notes };
    return { ...plan, drift: [], keysFile, keysPerCall };
  } finally {
    for (const table of ['listed', 'asked', 'due']) await engine.run(`DROP TABLE IF EXISTS ${table}`);
  }
}

/** The keys of a plan, some thousand at a time. */
export async function* keysIn(keysFile: string): AsyncGenerator<readonly EanKey[]> {
  let rest = '';
  for await (const text of createReadStream(keysFile, { encoding: 'utf8', highWaterMark: READ_BYTES })) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop()!;
    yield lines.map((line) => JSON.parse(line) as EanKey);
  }
}

/** Makes table `listed` of the list's questions, each once, at the place where it stands first. */
async function loadList(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  folder: string,
): Promise<EanQuestions> {
  const scratch = path.join(folder, `${pipeline.name}-list.csv`);
  const sink = await FileSink.open(scratch);
  let place = 0;
  try {
    const found = await eanQuestions(context, pipeline, async (questions) => {
      const lines = questions.map(({ ean, condition, price }) => `${place++},${ean},${condition},${price ?? ''}\n`);
      await sink.write(Buffer.from(lines.join('')));
    }).finally(() => sink.close());
    await engine.run(
      `CREATE OR REPLACE TABLE listed AS SELECT min(place) AS place, ean, condition, price FROM read_csv(${quoteFile(scratch)},
         header = false, auto_detect = false, delim = ',', columns = {place: 'BIGINT', ean: 'VARCHAR', condition: 'VARCHAR', price: 'VARCHAR'})
       GROUP BY ean, condition, price`,
    );
    return found;
  } finally {
    await rm(scratch, { force: true });
  }
}

type Variants = 'listed' | readonly Key[];

/** A row for every key: its place in the list, its variant, and its members. */
function keysSql(variants: Variants): string {
  if (variants === 'listed') return 'SELECT place, 0 AS variant, ean, condition, price FROM listed';
  const members = membersOf(variants);
  const rows = variants.map((variant, i) => `(${[i, ...members.map((name) => valueSql(variant[name]))].join(', ')})`);
  const names = ['variant', ...members.map(quoteName)].join(', ');
  return `SELECT l.place, m.*, l.ean FROM (SELECT ean, min(place) AS place FROM listed GROUP BY ean) AS l
    CROSS JOIN (VALUES ${rows.join(', ')}) AS m(${names})`;
}

/** What a key has besides the EAN. */
function membersOf(variants: Variants): readonly string[] {
  return variants === 'listed' ? ['condition', 'price'] : Object.keys(variants[0] ?? {});
}

function valueSql(value: string | null | undefined): string {
  return value == null ? 'NULL' : quoteText(value);
}

interface Due {
  /** SQL of the due keys with `place`, `variant`, `reason` and their members. */
  readonly rows: string;
  /** ORDER BY; the order of the list is the order of value. */
  readonly order: string;
}

function dueSql(context: RunContext, pipeline: Pipeline, variants: Variants, { isByAge }: EanKeys): Due {
  const { freshHours, refreshDays = 0 } = settingsOf<LookupSettings>(context, pipeline);
  const nowMs = context.clock.now();
  const columns = pipeline.columns.filter(({ origin }) => origin === 'request');
  const same = columns.map(({ field, column, kind }) => {
    const member = `k.${quoteName(field)}${kind === 'money' ? '::DECIMAL(18,6)' : ''}`;
    return `a.${quoteName(column)} IS NOT DISTINCT FROM ${member}`;
  });
  const found = `FROM (${keysSql(variants)}) AS k LEFT JOIN asked AS a ON ${same.join(' AND ')}`;
  const isFresh = `a.asked_at > ${before(nowMs, freshHours)}`;
  if (!isByAge)
    return {
      rows: `SELECT k.*, CASE WHEN a.ean IS NULL THEN 'new' ELSE 'due' END AS reason
        ${found} WHERE a.ean IS NULL OR NOT ${isFresh}`,
      order: 'place, variant',
    };
  const waitDays = `least(${FIRST_MISS_DAYS} * pow(2, least(a.misses, 10) - 1), ${LONGEST_MISS_DAYS})::BIGINT`;
  return {
    rows: `SELECT k.*, a.asked_at,
        CASE WHEN a.ean IS NULL THEN 'new' WHEN a.outcome = 'found' THEN 'oldest' ELSE 'missing' END AS reason
      ${found}
      WHERE a.ean IS NULL OR (NOT ${isFresh} AND
        CASE WHEN a.outcome = 'found' THEN a.asked_at <= ${before(nowMs, refreshDays * 24)}
          ELSE a.asked_at + to_days(${waitDays}::INTEGER) <= TIMESTAMPTZ ${quoteText(isoTime(nowMs))} END)`,
    order: `reason <> 'new', CASE WHEN reason = 'new' THEN NULL ELSE asked_at END, place, variant`,
  };
}

function before(nowMs: number, hours: number): string {
  return `TIMESTAMPTZ ${quoteText(isoTime(nowMs - hours * 3_600_000))}`;
}
