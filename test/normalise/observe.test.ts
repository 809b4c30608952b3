import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commissionRates, commissionReductions } from '../../pipelines/commission-rates.ts';
import { pipelines } from '../../pipelines/index.ts';
import { historyOf, type Pipeline, storedColumns } from '../../src/core/pipeline.ts';
import { Engine, quoteList, quoteName } from '../../src/engine/duckdb.ts';
import type { CurrentSlices } from '../../src/normalise/changed-slices.ts';
import { type Observations, type Observed, observe } from '../../src/normalise/observe.ts';
import { linesSource } from '../../src/normalise/observed.ts';

type Line = Readonly<Record<string, string>>;

let folder: string;
let engine: Engine;
/** What was committed: pipeline → day → files and digest. */
let lake: Map<string, Map<string, { file: string | null; rejectsFile: string | null; digest: string }>>;
let rounds = 0;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-observe-'));
  engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
  lake = new Map();
});
afterEach(async () => {
  engine.close();
  await rm(folder, { recursive: true, force: true });
});

const rate = (at: string, ean: string, more: Line = {}): Line => ({
  _f: `f-${at}`,
  _raw: `{"ean":"${ean}"}`,
  ean,
  condition: 'NEW',
  observedOn: at.slice(0, 10),
  observedFrom: at,
  outcome: 'found',
  fixedAmount: '0.99',
  percentage: '12.4',
  ...more,
});

const EAN = '8712345678906';
const OTHER = '8712345678913';
const DAY1 = '2026-03-20T02:00:00.000Z';
const DAY2 = '2026-03-21T02:00:00.000Z';
const DAY3 = '2026-03-22T02:00:00.000Z';

function currentOf(pipeline: Pipeline): CurrentSlices {
  const slices = lake.get(pipeline.name) ?? new Map();
  const before = [...slices.values()];
  return {
    knownFiles: before.flatMap((slice) => slice.file ?? []),
    rejectFiles: before.flatMap((slice) => slice.rejectsFile ?? []),
    slice: (day) => slices.get(day) ?? { file: null, rejectsFile: null },
    digest: (day) => slices.get(day)?.digest ?? null,
  };
}

async function observed(pipeline: Pipeline, lines: readonly Line[]): Promise<Observed> {
  const file = path.join(folder, `${rounds++}.ndjson`);
  const history = historyOf(pipelines, pipeline)!;
  await writeFile(file, lines.map((line, i) => `${JSON.stringify({ _i: String(i), ...line })}\n`).join(''));
  return {
    observed: { pipeline, source: linesSource(pipeline, file, 1000), lines: lines.length },
    current: currentOf(pipeline),
    history: { observed: { pipeline: history, source: '', lines: 0 }, current: currentOf(history) },
  };
}

interface Round {
  readonly parts?: readonly Line[];
  readonly refused?: readonly Record<string, unknown>[];
}

/** Takes lines in and commits what comes of it. */
async function take(lines: readonly Line[], { parts = [], refused = [] }: Round = {}): Promise<Observations> {
  const refusedFile = path.join(folder, `${rounds++}.refused`);
  await writeFile(refusedFile, refused.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const result = await observe(engine, {
    parent: await observed(commissionRates, lines),
    children: [await observed(commissionReductions, parts)],
    refusedFiles: refused.length > 0 ? [refusedFile] : [],
    fetchId: 'f-none',
    atMs: Date.parse(DAY3),
    timeZone: 'Europe/Amsterdam',
    outDir: path.join(folder, `out-${rounds++}`),
  });
  for (const { pipeline, content, file, rejectsFile } of result.slices) {
    const slices = lake.get(pipeline.name) ?? new Map();
    lake.set(pipeline.name, slices.set(content.day, { file, rejectsFile, digest: content.digest }));
  }
  return result;
}

/** What holds now, and with `- until`, when it ended and why, what did before. */
async function rows(pipeline: Pipeline = commissionRates): Promise<string[]> {
  return [...(await rowsIn(pipeline, pipeline)), ...(await rowsIn(pipeline, historyOf(pipelines, pipeline)!))].sort();
}

async function rowsIn(pipeline: Pipeline, table: Pipeline): Promise<string[]> {
  const files = [...(lake.get(table.name)?.values() ?? [])].flatMap(({ file }) => file ?? []);
  if (files.length === 0) return [];
  const names = [
    'observed_on',
    'ean',
    'asked_price',
    pipeline === commissionRates ? 'outcome' : 'maximum_price',
    'fetch_id',
    ...(table.isHistory ? ['ended_on', 'ended_by'] : []),
  ];
  const found = await engine.rows(
    `SELECT concat_ws(' ', ${names.map((name) => `coalesce(${quoteName(name)}::VARCHAR, '-')`).join(', ')}) AS text FROM read_parquet(${quoteList(files)}) ORDER BY 1`,
  );
  return found.map((row) => String(row.text));
}

const days = (observations: Observations) =>
  observations.slices.map(({ pipeline, content }) => `${pipeline.name} ${content.day}`);

describe('what look-ups tell', () => {
  test('for the first time is a version; the same again is none', async () => {
    const first = await take([rate(DAY1, EAN), rate(DAY1, OTHER)]);
    expect([first.rows, first.fresh, first.slices.length]).toEqual([2, 2, 1]);
    const again = await take([rate(DAY2, EAN), rate(DAY2, OTHER)]);
    expect([again.rows, again.fresh, again.slices.length]).toEqual([2, 0, 0]);
    expect(await rows()).toEqual([`2026-03-20 ${EAN} - found f-${DAY1}`, `2026-03-20 ${OTHER} - found f-${DAY1}`]);
  });

  test('and what differs is a new version on its day, beside what the day held', async () => {
    await take([rate(DAY1, EAN)]);
    await take([rate(DAY2, EAN, { percentage: '12.9' })]);
    const later = '2026-03-21T14:00:00.000Z';
    const result = await take([rate(later, EAN, { percentage: '12.9' }), rate(later, OTHER)]);
    expect(days(result)).toEqual(['commission-rates 2026-03-21']);
    expect(result.slices[0]?.content).toMatchObject({ rows: 2, fetched_at: later, sums: { percentage: '25.300000' } });
    expect(await rows()).toEqual([
      `2026-03-20 ${EAN} - found f-${DAY1} 2026-03-21 changed`,
      `2026-03-21 ${EAN} - found f-${DAY2}`,
      `2026-03-21 ${OTHER} - found f-${later}`,
    ]);
  });

  test('one EAN at several prices is several things', async () => {
    const prices = [{}, { price: '10' }, { price: '20.50' }];
    expect((await take(prices.map((price) => rate(DAY1, EAN, price)))).fresh).toBe(3);
    expect((await take(prices.map((price) => rate(DAY2, EAN, price)))).fresh).toBe(0);
    expect((await take([rate(DAY3, EAN, { price: '10.0', fixedAmount: '1' })])).fresh).toBe(1);
  });

  test('several nights at once give what they give one by one, in whatever order they stand', async () => {
    const nights = [
      [rate(DAY1, EAN)],
      [rate(DAY2, EAN, { outcome: 'not_found', fixedAmount: '', percentage: '' })],
      [rate(DAY3, EAN)],
    ].map((night) =>
      night.map(({ fixedAmount, percentage, ...line }) =>
        fixedAmount ? { ...line, fixedAmount, percentage: percentage! } : line,
      ),
    );
    for (const night of nights) await take(night);
    const contents = () =>
      ['commission-rates', 'commission-rates-history'].flatMap((name) =>
        [...lake.get(name)!].flatMap(([day, { file, digest }]) => (file === null ? [] : `${name} ${day} ${digest}`)),
      );
    const [one, before] = [await rows(), contents()];
    expect(one).toEqual([
      `2026-03-20 ${EAN} - found f-${DAY1} 2026-03-21 changed`,
      `2026-03-21 ${EAN} - not_found f-${DAY2} 2026-03-22 changed`,
      `2026-03-22 ${EAN} - found f-${DAY3}`,
    ]);
    lake = new Map();
    await take(nights.flat().reverse());
    expect(await rows()).toEqual(one);
    expect(contents()).toEqual(before);
  });

  test('and to take it in twice, or late, changes nothing', async () => {
    await take([rate(DAY1, EAN)]);
    await take([rate(DAY3, EAN, { percentage: '15' })]);
    const late = await take([
      rate(DAY2, EAN, { percentage: '13' }),
      rate(DAY1, EAN),
      rate(DAY3, EAN, { percentage: '15' }),
    ]);
    expect([late.fresh, late.slices.length]).toEqual([0, 0]);
  });
});

describe('parts', () => {
  const boundary = (at: string, of: number, position: number, maximumPrice: string): Line => {
    const { outcome: _, fixedAmount: __, percentage: ___, ...named } = rate(at, EAN);
    return {
      ...named,
      _p: String(of),
      position: String(position),
      maximumPrice,
      costReduction: '1.5',
      startDate: '2026-03-01',
      endDate: '2026-04-01',
    };
  };
  const reductions = (...prices: string[]) => ({ reductions: JSON.stringify(prices) });

  test('come with a new version of what they belong to, and only then', async () => {
    const first = await take([rate(DAY1, EAN, reductions('30', '20'))], {
      parts: [boundary(DAY1, 0, 0, '30'), boundary(DAY1, 0, 1, '20')],
    });
    expect(days(first)).toEqual(['commission-rates 2026-03-20', 'commission-reductions 2026-03-20']);
    const same = await take([rate(DAY2, EAN, reductions('30', '20'))], {
      parts: [boundary(DAY2, 0, 0, '30'), boundary(DAY2, 0, 1, '20')],
    });
    expect(days(same)).toEqual([]);
    const fewer = await take([rate(DAY3, EAN, reductions('30'))], { parts: [boundary(DAY3, 0, 0, '30')] });
    expect(days(fewer)).toEqual([
      'commission-rates 2026-03-20',
      'commission-rates 2026-03-22',
      'commission-rates-history 2026-03-22',
      'commission-reductions 2026-03-20',
      'commission-reductions 2026-03-22',
      'commission-reductions-history 2026-03-22',
    ]);
    expect(await rows(commissionReductions)).toEqual([
      `2026-03-20 ${EAN} - 20.000000 f-${DAY1} 2026-03-22 changed`,
      `2026-03-20 ${EAN} - 30.000000 f-${DAY1} 2026-03-22 changed`,
      `2026-03-22 ${EAN} - 30.000000 f-${DAY3}`,
    ]);
  });

  test('that cannot be typed are rejects of the part', async () => {
    const result = await take([rate(DAY1, EAN, reductions('x'))], { parts: [boundary(DAY1, 0, 0, 'x')] });
    expect(result.rejects).toBe(1);
    expect(days(result)).toEqual(['commission-rates 2026-03-20', 'commission-reductions 2026-03-20']);
    expect(result.slices[1]?.content).toMatchObject({ rows: 0, rejects: 1 });
  });
});

describe('rejects', () => {
  const refused = {
    fetch_id: 'f-list',
    item: 3,
    day: '2026-03-20',
    reason: 'bad_ean',
    detail: 'check digit',
    raw: '871234567890x',
  };

  test('are set aside once, and counted every time', async () => {
    const first = await take([rate(DAY1, EAN)], { refused: [refused] });
    expect([first.rejects, first.slices[0]?.content.rejects]).toEqual([1, 1]);
    const again = await take([rate(DAY2, EAN)], { refused: [{ ...refused, day: '2026-03-21' }] });
    expect([again.rejects, again.slices.length]).toEqual([1, 0]);
    const other = await take([rate(DAY2, EAN)], { refused: [{ ...refused, day: '2026-03-21', raw: 'abc' }] });
    expect(days(other)).toEqual(['commission-rates 2026-03-21']);
  });

  test('stay when the day gets further rows, and a row that cannot be typed leaves what was known', async () => {
    await take([rate(DAY1, EAN)], { refused: [refused] });
    const result = await take([
      rate('2026-03-20T09:00:00.000Z', EAN, { percentage: 'much' }),
      rate('2026-03-20T09:00:00.000Z', OTHER),
    ]);
    expect(result.slices[0]?.content).toMatchObject({ rows: 2, rejects: 2 });
    const files = [...lake.get('commission-rates')!.values()].map(({ rejectsFile }) => rejectsFile!);
    const found = await engine.rows(`SELECT reason, detail, raw FROM read_parquet(${quoteList(files)}) ORDER BY item`);
    expect(found).toEqual([
      { reason: 'bad_number', detail: 'percentage = much', raw: `{"ean":"${EAN}"}` },
      { reason: 'bad_ean', detail: 'check digit', raw: '871234567890x' },
    ]);
    expect(await rows()).toContain(`2026-03-20 ${EAN} - found f-${DAY1}`);
  });
});

describe('a collapse', () => {
  test('can be told by how many things are still there', async () => {
    await take([rate(DAY1, EAN), rate(DAY1, OTHER)]);
    const { present, stillPresent } = await take([rate(DAY2, EAN), rate(DAY2, OTHER, { outcome: 'not_found' })]);
    expect([present, stillPresent]).toEqual([2, 1]);
  });
});

test('the files of a slice have the declared columns and no others', async () => {
  await take([rate(DAY1, EAN)]);
  const [slice] = [...lake.get('commission-rates')!.values()];
  const columns = await engine.rows(`DESCRIBE SELECT * FROM read_parquet(${quoteList([slice!.file!])})`);
  expect(columns.map((c) => c.column_name)).toEqual(storedColumns(commissionRates).map((c) => c.column));
});
