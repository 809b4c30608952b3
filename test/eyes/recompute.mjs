/**
 * The receipts' figures, recomputed from the vault with nothing of the product but its files:  node test/eyes/recompute.mjs HOME [--json]
 *
 * For every slice of the three reports, and of the reductions file, it reads the answer that the lake names (its own way of unpacking, of
 * reading JSON by its text, of adding with whole numbers without limit) and compares rows, rejects, duplicates and the sum of every
 * column of money, percentages and counts with the lake's manifests, and with etl.receipt in warehouse.duckdb and, where
 * PARTNER_ETL_POSTGRES_URL is set, in Postgres. Exit 1 where anything differs.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

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

/** Sizes beyond which an item is set aside. */
const MOST = { itemBytes: 4 * 1024 * 1024, depth: 64 };

/**
 * The items of an answer, by its bytes: numbers stay as they are written, objects are Maps, an item that is no object or not sound
 * (a key twice, no UTF-8, a stray token) is null.
 */
function itemsIn(bytes) {
  // One character a byte: the signs of JSON are ASCII, and texts are decoded one by one.
  const text = bytes.toString('latin1');
  let at = bytes.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0;
  let level = 0;
  let isSound = true;
  const blank = () => {
    while (' \t\r\n'.includes(text[at] ?? 'x')) at++;
  };
  const value = () => {
    blank();
    const start = at;
    if (text[at] === '"') return string();
    if (text[at] === '{' || text[at] === '[') {
      level++;
      if (level > MOST.depth + 2) isSound = false;
      const found = text[at] === '{' ? object() : list();
      level--;
      return found;
    }
    while (at < text.length && !',]} \t\r\n'.includes(text[at])) at++;
    const token = text.slice(start, at);
    if (token === 'null' || token === 'true' || token === 'false') return JSON.parse(token);
    if (!NUMBER.test(token)) isSound = false;
    return { number: token };
  };
  const string = () => {
    const start = at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    const own = Buffer.from(text.slice(start, ++at), 'latin1');
    if (!isUtf8(own)) isSound = false;
    try {
      // A lone surrogate and NUL are mended on the way, as in the warehouse.
      return JSON.parse(own.toString('utf8')).toWellFormed().replaceAll('\0', '');
    } catch {
      isSound = false;
      return '';
    }
  };
  const list = () => {
    const found = [];
    for (at++, blank(); text[at] !== ']'; blank()) {
      const start = at;
      if (level === 2) isSound = true;
      const one = value();
      const isItem = one instanceof Map && isSound && at - start <= MOST.itemBytes;
      found.push(level === 2 && !isItem ? null : one);
      blank();
      if (text[at] === ',') at++;
    }
    at++;
    return found;
  };
  const object = () => {
    const found = new Map();
    for (at++, blank(); text[at] !== '}'; blank()) {
      const name = string();
      blank();
      at++;
      const one = value();
      if (found.has(name)) isSound = false;
      found.set(name, one);
      blank();
      if (text[at] === ',') at++;
    }
    at++;
    return found;
  };
  return value().get('items') ?? [];
}

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([-+]?\d{1,4}))?$/;

/** In units of 10^-places, half away from zero; undefined for what is no number, is too large, or (places 0) is not whole. */
function units(text, places) {
  const [, sign, whole, fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const shift = Number(power) - fraction.length + places;
  const digits = BigInt(whole + fraction);
  const unit = 10n ** BigInt(Math.max(0, -shift));
  if (places === 0 && digits % unit !== 0n) return undefined;
  const size = shift >= 0 ? digits * 10n ** BigInt(shift) : (2n * digits + unit) / (2n * unit);
  const most = places === 0 ? 2n ** 63n - 1n : 10n ** 18n - 1n;
  return size > most ? undefined : sign ? -size : size;
}

/** A value as the warehouse has it; undefined where it makes the row a reject. */
function typed(kind, value) {
  if (value === null || value === undefined) return null;
  if (value instanceof Map || Array.isArray(value)) return undefined;
  const text = typeof value === 'object' ? value.number : String(value);
  if (kind === 't') return text;
  if (kind === 'b') return text === 'true' || text === 'false' ? text : undefined;
  if (kind === 'd') return /^\d{4}-\d{2}-\d{2}([T ]|$)/.test(text) ? text.slice(0, 10) : undefined;
  if (typeof value === 'boolean' || !NUMBER.test(text)) return undefined;
  return kind === 'r' ? Number(text) : units(text, kind === 'm' ? 6 : 0);
}

/** What an answer comes to, by day: rows, rejects, duplicates, sums. */
function figuresOf(pipeline, answer, from, to) {
  const fields = REPORTS[pipeline];
  const dayField = Object.keys(fields)[0];
  const days = new Map();
  const dayOf = (day) => days.get(day) ?? days.set(day, { rows: 0, rejects: 0, duplicates: 0, sums: {} }).get(day);
  const winners = new Map();
  for (const item of itemsIn(answer).toReversed()) {
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

function spelled(value) {
  return JSON.stringify(value, (_, one) =>
    typeof one === 'bigint' ? String(one) : one instanceof Map ? [...one] : one,
  );
}

/** Amounts of the lines that came or went with the files of a day, in the order of the files. */
function reductionsByDay(home) {
  const isFile = ({ vault_path: file }) => file?.includes('.csv');
  const files = [...fetchesOf(home, 'reductions').values()]
    .filter(isFile)
    .sort((a, b) => (a.fetch_id < b.fetch_id ? -1 : 1));
  const days = new Map();
  let before = new Map();
  for (const fetch of files) {
    const day = new Date(fetch.finished_at).toLocaleDateString('sv-SE', { timeZone: 'Europe/Amsterdam' });
    const now = linesOfFile(answerOf(home, fetch).toString('utf8'));
    const changed = [
      ...[...now].filter(([line]) => !before.has(line)),
      ...[...before].filter(([line]) => !now.has(line)),
    ];
    days.set(day, [...(days.get(day) ?? []), ...changed.map(([, amounts]) => amounts)]);
    before = now;
  }
  return days;
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

function decimals(value, kind) {
  if (value === null || value === undefined) return null;
  if (kind === 'c') return String(value);
  const size = String(value < 0n ? -value : value).padStart(7, '0');
  return `${value < 0n ? '-' : ''}${size.slice(0, -6)}.${size.slice(-6)}`;
}

/** The decoded answer of a fetch, proved by its sha256. */
function answerOf(home, fetch) {
  const stored = readFileSync(path.join(home, fetch.vault_path));
  const decoded = fetch.vault_path.endsWith('.gz') ? gunzipSync(stored) : stored;
  if (createHash('sha256').update(decoded).digest('hex') !== fetch.sha256)
    throw new Error(`${fetch.vault_path} is not what fetch ${fetch.fetch_id} received`);
  return decoded;
}

function fetchesOf(home, pipeline) {
  const folder = path.join(home, 'vault', pipeline, 'fetches');
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.json'))
    : [];
  return new Map(
    files
      .map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')))
      .map((fetch) => [fetch.fetch_id, fetch]),
  );
}

function slicesOf(home, pipeline) {
  const folder = path.join(home, 'lake', pipeline);
  const months = existsSync(folder) ? readdirSync(folder).sort() : [];
  return months.flatMap((month) =>
    Object.values(JSON.parse(readFileSync(path.join(folder, month, 'manifest.json'), 'utf8')).slices).map(
      ({ content }) => content,
    ),
  );
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
    const fetches = fetchesOf(home, pipeline);
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
  for (const [day, amounts] of reductionsByDay(home)) {
    const content = slicesOf(home, 'reductions').find((one) => one.day === day);
    if (content === undefined && amounts.length === 0) continue;
    const sum = (i) =>
      decimals(
        amounts.reduce((all, one) => all + (one[i] ?? 0n), 0n),
        'm',
      );
    const sums = amounts.length === 0 ? {} : { maximum_price: sum(0), cost_reduction: sum(1) };
    const { rejects = 0, duplicates = 0 } = content ?? {};
    compare('reductions', content ?? { day, rows: 0, rejects, duplicates, sums: {} }, {
      rows: amounts.length,
      rejects,
      duplicates,
      sums,
    });
  }
  return checked;
}

const [home] = process.argv.slice(2).filter((word) => !word.startsWith('-'));
if (home === undefined) {
  process.stderr.write(
    'node test/eyes/recompute.mjs HOME [--json]: recomputes what the receipts say, from the vault\n',
  );
  process.exit(2);
}
const checked = await recompute(path.resolve(home));
const wrong = checked.filter(({ isSame }) => !isSame);
if (process.argv.includes('--json')) process.stdout.write(`${spelled(checked)}\n`);
else {
  for (const { pipeline, day, place, told, own } of wrong)
    process.stdout.write(`${pipeline} ${day}: ${place} says ${spelled(told ?? null)}, the vault ${spelled(own)}\n`);
  process.stdout.write(`${checked.length} figures of slices recomputed from the vault, ${wrong.length} differ\n`);
}
process.exitCode = wrong.length > 0 ? 1 : 0;
