/**
 * The receipts' figures, recomputed from the raw store with nothing of the product but its files:  node test/proof/eyes/recompute.mjs HOME [--json]
 *
 * For every slice of the three reports it reads the answer that the lake names, and for those of the reductions file, of rates and of
 * products all answers in their order (its own way of unpacking, of reading JSON by its text, of adding with whole numbers without limit),
 * and compares rows and the sum of every column of money, percentages and counts, of reports also rejects and duplicates, with the lake's
 * table in state.db, and with etl.receipt in warehouse.duckdb and, where PARTNER_ETL_POSTGRES_URL is set, in Postgres. Exit 1 where
 * anything differs.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { decimals, membersIn, spelled, typed, units } from './by-text.mjs';
import { answerOf, dayOf, entriesOf, fetchesOf } from './home-files.mjs';
import { LOOKUPS, spelledSums, versionsByDay } from './recompute-lookups.mjs';

/** What is added up, by the names that the service uses: m money or percentage, c count, r ratio, b boolean, t text, d day. */
const REPORTS = {
  promotions: {
    date: ['promotion_date', 'd'],
    ...texts('siteName siteCode frameType name subId'),
    ...kinds('c', 'clicks impressions orders'),
    ...kinds('r', 'clickThroughRate earningsPerClick earningsPerMille conversion averageOrderValue'),
    ...kinds('m', 'commission revenueExclVat revenueInclVat'),
  },
  orders: {
    orderDate: ['order_date', 'd'],
    ...texts(
      'orderDateTime orderId orderItemId productTitle productId chunkName siteName siteCode frameType name subId status',
    ),
    ...kinds('c', 'quantity'),
    ...kinds('m', 'priceExclVat priceInclVat commissionPercentage commission'),
    ...kinds('b', 'statusFinal approvedForPayment'),
  },
  commissions: {
    orderDate: ['order_date', 'd'],
    ...texts('siteName siteCode frameType name subId'),
    ...kinds(
      'm',
      'commissionPercentage commissionOriginal commissionApproved commissionOpen revenueOriginalExclVat revenueOriginalInclVat',
    ),
    ...kinds('m', 'revenueApprovedExclVat revenueApprovedInclVat revenueOpenExclVat revenueOpenInclVat'),
    ...kinds('c', 'quantityPayable'),
  },
};
const KEYS = { orders: ['orderId', 'orderItemId'] };

function kinds(kind, names) {
  const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(names.split(' ').map((name) => [name, [snake(name), kind]]));
}

function texts(names) {
  return kinds('t', names);
}

/** What an answer comes to, by day: rows, rejects, duplicates, sums. */
function figuresOf(pipeline, answer, from, to) {
  const fields = REPORTS[pipeline];
  const dayField = Object.keys(fields)[0];
  const days = new Map();
  const dayOf = (day) => days.get(day) ?? days.set(day, { rows: 0, rejects: 0, duplicates: 0, sums: {} }).get(day);
  const winners = new Map();
  for (const item of (membersIn(answer).get('items') ?? []).toReversed()) {
    const row = item
      ? Object.fromEntries(Object.entries(fields).map(([name, [, kind]]) => [name, typed(kind, item.get(name))]))
      : null;
    const day = row?.[dayField];
    const isInside = day >= from && day <= to;
    const isSound =
      row &&
      isInside &&
      Object.values(row).every((one) => one !== undefined) &&
      (KEYS[pipeline] ?? []).every((name) => row[name]);
    if (!isSound) {
      dayOf(isInside ? day : from).rejects++;
      continue;
    }
    const extra = [...item]
      .filter(([name, one]) => !(name in fields) && one !== undefined)
      .map(([name, one]) => [name, spelled(one)]);
    const whole = spelled([row, extra]);
    const key = KEYS[pipeline] ? spelled(KEYS[pipeline].map((name) => row[name])) : whole;
    if (winners.has(key)) {
      dayOf(day)[winners.get(key) === whole ? 'duplicates' : 'rejects']++;
      continue;
    }
    winners.set(key, whole);
    const figures = dayOf(day);
    figures.rows++;
    for (const [name, [column, kind]] of Object.entries(fields)) {
      if (kind !== 'm' && kind !== 'c') continue;
      const before = figures.sums[column] ?? null;
      figures.sums[column] = row[name] === null ? before : (before ?? 0n) + row[name];
    }
  }
  return days;
}

/** Amounts of the lines that the newest file has by the day on which they came, and of those that are gone by the day on which they went. */
function reductionsByDay(home) {
  const isFile = ({ raw_path: file }) => file?.includes('.csv');
  const files = fetchesOf(home, 'reductions')
    .filter(isFile)
    .sort((a, b) => (a.fetch_id < b.fetch_id ? -1 : 1));
  const [days, past] = [new Map(), new Map()];
  const add = (to, day, amounts) => to.set(day, [...(to.get(day) ?? []), ...(amounts === null ? [] : [amounts])]);
  const there = new Map();
  for (const fetch of files) {
    const day = dayOf(fetch);
    const now = linesOfFile(answerOf(home, fetch).toString('utf8'));
    for (const [line, { amounts }] of there)
      if (!now.has(line)) {
        add(past, day, amounts);
        there.delete(line);
      }
    for (const [line, amounts] of now) if (!there.has(line)) there.set(line, { amounts, day });
    add(days, day, null);
  }
  for (const { amounts, day } of there.values()) add(days, day, amounts);
  return [
    ['reductions', days],
    ['reductions-history', past],
  ];
}

/** Lines of the reductions file, each once. */
function linesOfFile(file) {
  const [header, ...lines] = file
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split(','));
  const at = (name) => header.findIndex((one) => one.trim().toLowerCase() === name);
  const of = ['ean', 'maximumprice', 'costreduction', 'startdate', 'enddate'].map(at);
  const wanted = lines.filter((line) => line.length === header.length).map((line) => of.map((i) => line[i].trim()));
  return new Map(
    wanted.map(([ean, price, cut, ...days]) => [
      spelled([ean, units(price, 6), units(cut, 6), days]),
      [units(price, 6), units(cut, 6)],
    ]),
  );
}

function slicesOf(home, pipeline) {
  return entriesOf(home, pipeline).map(({ content }) => content);
}

/** Receipts that hold now, by target: `pipeline day` → figures. */
async function receiptsOf(home) {
  const select = `SELECT pipeline || ' ' || CAST(slice_day AS VARCHAR) AS slice, CAST(rows AS VARCHAR) AS rows, CAST(rejects AS VARCHAR) AS rejects,
    CAST(duplicates AS VARCHAR) AS duplicates, CAST(sums AS VARCHAR) AS sums FROM etl.receipt WHERE superseded_at IS NULL`;
  const found = {};
  const file = path.join(home, 'warehouse.duckdb');
  if (existsSync(file)) {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    found.duckdb = (await connection.runAndReadAll(select)).getRowObjects();
    connection.closeSync();
    instance.closeSync();
  }
  if (process.env.PARTNER_ETL_POSTGRES_URL) {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: process.env.PARTNER_ETL_POSTGRES_URL });
    await client.connect();
    found.postgres = (await client.query(select)).rows;
    await client.end();
  }
  const figures = ({ rows, rejects, duplicates, sums }) => ({
    rows: +rows,
    rejects: +rejects,
    duplicates: +duplicates,
    sums: JSON.parse(sums),
  });
  return Object.entries(found).map(([target, all]) => [target, new Map(all.map((one) => [one.slice, figures(one)]))]);
}

function sameFigures(told, own, withDuplicates = true) {
  const sums = (of) =>
    spelled(
      Object.entries(of)
        .filter(([, sum]) => sum !== null)
        .sort(),
    );
  const counts = (of) => [of.rows, of.rejects, withDuplicates ? of.duplicates : 0];
  return spelled(counts(told)) === spelled(counts(own)) && sums(told.sums) === sums(own.sums);
}

async function recompute(home) {
  const receipts = await receiptsOf(home);
  const checked = [];
  const unknown = [];
  const compare = (pipeline, content, own) => {
    const places = [
      ['lake', content],
      ...receipts.map(([target, all]) => [target, all.get(`${pipeline} ${content.day}`)]),
    ];
    for (const [place, told] of places) {
      // A day that was always empty needs no receipt.
      const isNothing = told === undefined && own.rows + own.rejects === 0;
      const isSame = isNothing || (told !== undefined && sameFigures(told, own));
      checked.push({ pipeline, day: content.day, place, rows: own.rows, isSame, ...(isSame ? {} : { told, own }) });
    }
  };
  for (const [pipeline, fields] of Object.entries(REPORTS)) {
    const fetches = new Map(fetchesOf(home, pipeline).map((fetch) => [fetch.fetch_id, fetch]));
    const answers = new Map();
    for (const content of slicesOf(home, pipeline)) {
      const fetch = fetches.get(content.fetch_id);
      if (!answers.has(fetch.fetch_id))
        answers.set(fetch.fetch_id, figuresOf(pipeline, answerOf(home, fetch), fetch.window_from, fetch.window_to));
      const own = answers.get(fetch.fetch_id).get(content.day) ?? { rows: 0, rejects: 0, duplicates: 0, sums: {} };
      const kindOf = Object.fromEntries(Object.values(fields));
      const sums = Object.fromEntries(
        Object.entries(own.sums).map(([column, sum]) => [column, decimals(sum, kindOf[column])]),
      );
      compare(pipeline, content, { ...own, sums });
    }
  }
  for (const [name, days] of reductionsByDay(home))
    for (const [day, amounts] of days) {
      const content = slicesOf(home, name).find((one) => one.day === day);
      if (content === undefined && amounts.length === 0) continue;
      const sum = (i) =>
        decimals(
          amounts.reduce((all, one) => all + (one[i] ?? 0n), 0n),
          'm',
        );
      const sums = amounts.length === 0 ? {} : { maximum_price: sum(0), cost_reduction: sum(1) };
      const { rejects = 0, duplicates = 0 } = content ?? {};
      const own = { rows: amounts.length, rejects, duplicates, sums };
      compare(name, content ?? { day, rows: 0, rejects, duplicates, sums: {} }, own);
    }
  for (const pipeline of Object.keys(LOOKUPS)) {
    const versions = versionsByDay(home, pipeline);
    if (versions === null) unknown.push(pipeline);
    for (const [name, days] of Object.entries(versions ?? {})) {
      const slices = new Map(slicesOf(home, name).map((content) => [content.day, content]));
      for (const day of new Set([...slices.keys(), ...days.keys()])) {
        const { rows, sums } = days.get(day) ?? { rows: 0, sums: {} };
        const { rejects = 0, duplicates = 0 } = slices.get(day) ?? {};
        const told = slices.get(day) ?? { day, rows: 0, rejects, duplicates, sums: {} };
        compare(name, told, { rows, rejects, duplicates, sums: spelledSums(sums) });
      }
    }
  }
  return { checked, unknown };
}

const [home] = process.argv.slice(2).filter((word) => !word.startsWith('-'));
if (home === undefined) {
  process.stderr.write(
    'node test/proof/eyes/recompute.mjs HOME [--json]: recomputes what the receipts say, from the raw store\n',
  );
  process.exit(2);
}
const { checked, unknown } = await recompute(path.resolve(home));
const wrong = checked.filter(({ isSame }) => !isSame);
if (process.argv.includes('--json')) process.stdout.write(`${spelled(checked)}\n`);
else {
  for (const { pipeline, day, place, told, own } of wrong)
    process.stdout.write(`${pipeline} ${day}: ${place} says ${spelled(told ?? null)}, the raw store ${spelled(own)}\n`);
  for (const pipeline of unknown)
    process.stdout.write(`${pipeline}: left out, since something of it is held, or its answers were pruned\n`);
  process.stdout.write(`${checked.length} figures of slices recomputed from the raw store, ${wrong.length} differ\n`);
}
process.exitCode = wrong.length > 0 ? 1 : 0;
