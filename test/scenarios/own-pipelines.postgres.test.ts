/**
 * A report and a look-up that are declared here, in one declaration each, and nowhere else: every command, both warehouses, the settings,
 * the dictionary and the page know them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { withHistories } from '../../src/core/history.ts';
import type { PageModel } from '../../src/serve/page/model.ts';
import { typedIn } from '../cli/typed.ts';
import { openPageScene } from '../serve/page/scene.ts';
import { openWorld, type World } from '../support/nights.ts';
import { type Database, freshDatabase } from '../support/postgres-database.ts';
import { type OwnService, returns, startOwnService, stockLevels } from './own-pipelines.ts';

let database: Database;
let service: OwnService;
let world: World;
const [known, unknown] = ['8712626055143', '8804269223123'];
const list = () => path.join(world.home, 'eans.csv');

beforeAll(async () => {
  [database, service] = await Promise.all([freshDatabase(), startOwnService()]);
  service.returns.set('2026-03-17', [row('2026-03-17', 'r1', '12.10'), row('2026-03-17', 'r2', '900719925474.993001')]);
  service.returns.set('2026-03-18', [row('2026-03-18', 'r3', '3')]);
  service.stock.set(known, stock('7', '0.05'));
  world = await openWorld({
    postgresUrl: database.url,
    pipelines: withHistories([returns, stockLevels]),
    env: { PARTNER_BASE_URL: service.url, PARTNER_AUTH_URL: service.url },
    settings: { eans: { file: 'eans.csv', query: null } },
  });
  await writeFile(list(), `ean\n${known}\n${unknown}\n`);
});
afterAll(async () => {
  await world.close();
  await Promise.all([database.drop(), service.close()]);
});

const row = (day: string, id: string, refund: string) =>
  `{"returnDate":"${day}","returnId":"${id}","reason":"too small","pieces":1,"refund":${refund}}`;
const stock = (pieces: string, cost: string) =>
  `{"ean":"${known}","warehouse":{"pieces":${pieces}},"unitCost":${cost}}`;

async function typed(words: readonly string[], code = 0): Promise<string> {
  const typed = await typedIn(world, words);
  expect([words.join(' '), typed.code, typed.err]).toEqual([words.join(' '), code, expect.any(String)]);
  return typed.out;
}
const json = async (words: readonly string[], code = 0) => JSON.parse(await typed([...words, '--json'], code));

/** The rows of a query, in both warehouses; they must be the same. */
async function rowsOf(sql: string): Promise<readonly unknown[]> {
  const [duckdb, postgres] = await world.within(({ targets }) => Promise.all(targets.map((t) => t.query(sql, 100))));
  expect(postgres?.rows).toEqual(duckdb?.rows);
  return duckdb?.rows ?? [];
}
const REFUNDS = `SELECT return_id, CAST(refund AS VARCHAR) FROM warehouse.fact_return ORDER BY return_id`;
const LEVELS = `SELECT ean, outcome, CAST(warehouse_pieces AS VARCHAR), CAST(unit_cost AS VARCHAR), valid_to IS NULL
  FROM warehouse.fact_stock_level_version ORDER BY ean, valid_from`;
const NAMES = ['returns', 'stock-levels'];

it('plan says what they would ask, and asks nothing', async () => {
  const plan = await json(['plan', ...NAMES]);
  expect(plan.pipelines.map((p: { pipeline: string; calls: number }) => [p.pipeline, p.calls])).toEqual([
    ['returns', 2],
    ['stock-levels', 2],
  ]);
  expect(service.asked).toEqual([]);
});

it('run brings them into both warehouses, to the last digit', async () => {
  await typed(['run', ...NAMES]);
  expect(service.asked.sort()).toEqual([
    '/marketing/affiliate/reports/v2/returns-report?startDate=2026-03-16&endDate=2026-03-18',
    '/marketing/affiliate/reports/v2/returns-report?startDate=2026-03-19&endDate=2026-03-19',
    `/marketing/catalog/v1/stock/${known}`,
    `/marketing/catalog/v1/stock/${unknown}`,
  ]);
  expect(await rowsOf(REFUNDS)).toEqual([
    ['r1', '12.100000'],
    ['r2', '900719925474.993001'],
    ['r3', '3.000000'],
  ]);
  expect(await rowsOf(LEVELS)).toEqual([
    [known, 'found', '7', '0.050000', true],
    [unknown, 'not_found', null, null, true],
  ]);
});

it('a later night replaces days and adds versions', async () => {
  world.passDays(1);
  service.returns.set('2026-03-17', [row('2026-03-17', 'r1', '12.20')]);
  service.returns.set('2026-03-18', []);
  service.stock.set(known, stock('6', '0.05'));
  // Two of three rows are gone: that is few enough to be no collapse.
  await typed(['run', ...NAMES]);
  expect(await rowsOf(REFUNDS)).toEqual([['r1', '12.200000']]);
  expect(await rowsOf(LEVELS)).toEqual([
    [known, 'found', '7', '0.050000', false],
    [known, 'found', '6', '0.050000', true],
    [unknown, 'not_found', null, null, true],
  ]);
});

it('status, explain and rejects know them', async () => {
  const status = await json(['status']);
  const named = (name: string) => status.pipelines.find((p: { pipeline: string }) => p.pipeline === name);
  expect(named('returns')).toMatchObject({ newest: '2026-03-20' });
  expect(named('stock-levels')).toMatchObject({ lookups: { outcomes: { found: 1, not_found: 1 } } });
  const day = await json(['explain', 'returns', '2026-03-17']);
  expect(JSON.stringify(day)).toContain('returns-report?startDate=');
  world.clock.set(world.clock.now() + 60_000);
  service.returns.set('2026-03-20', [row('2026-03-20', 'r4', '"n/a"')]);
  await typed(['backfill', 'returns', '--from', '2026-03-20', '--to', '2026-03-20', '--refetch'], 3);
  const rejects = await json(['rejects', 'returns']);
  expect(JSON.stringify(rejects)).toContain('"slice_day":"2026-03-20"');
  expect(JSON.stringify(rejects)).toContain('refund');
});

it('replay makes the same rows without a call, and verify finds no difference', async () => {
  const before = [await rowsOf(REFUNDS), await rowsOf(LEVELS)];
  const calls = service.asked.length;
  await typed(['replay', 'returns', '--from', '2026-03-16', '--to', '2026-03-20'], 3);
  await typed(['replay', 'stock-levels', '--from', '2026-03-20', '--to', '2026-03-21']);
  await typed(['rebuild']);
  expect([await rowsOf(REFUNDS), await rowsOf(LEVELS)]).toEqual(before);
  expect(service.asked).toHaveLength(calls);
  expect(await json(['verify'])).toMatchObject({ differences: [] });
});

describe('settings', () => {
  const settings = () => path.join(world.home, 'settings.yaml');
  const withSettings = async (section: object, work: () => Promise<void>) => {
    const text = await readFile(settings(), 'utf8');
    await writeFile(settings(), stringify({ ...parse(text), ...section }));
    await work().finally(() => writeFile(settings(), text));
  };

  it('are known by their names and checked', async () => {
    const { service: own, pipelines } = parse(await readFile(settings(), 'utf8'));
    const wrong = { ...pipelines, returns: { lookbackDais: 3 }, 'stock-levels': { callsPerNight: 0 } };
    const path = { ...own, reports: { returns: { path: 'no slash' } } };
    await withSettings({ pipelines: wrong, service: path }, async () => {
      const { code, err } = await typedIn(world, ['plan']);
      expect(code).toBe(2);
      expect(err).toContain('pipelines.returns.lookbackDais');
      expect(err).toContain('pipelines.stock-levels.callsPerNight = 0');
      expect(err).toContain('service.reports.returns.path = "no slash"');
    });
  });

  it('change what is asked', async () => {
    const { pipelines } = parse(await readFile(settings(), 'utf8'));
    const changed = { ...pipelines, returns: { windowDays: 2 }, 'stock-levels': { freshHours: 0, callsPerNight: 1 } };
    await withSettings({ pipelines: changed }, async () => {
      const plan = await json(['plan', ...NAMES]);
      expect(plan.pipelines.map((p: { calls: number }) => p.calls)).toEqual([2, 1]);
    });
  });
});

it('the dictionary and the page show them', async () => {
  await typed(['docs', '--out', 'handbook']);
  const words = await readFile(path.join(world.home, 'handbook/dictionary.md'), 'utf8');
  for (const text of ['fact_return', returns.about, 'what was paid back', 'fact_stock_level', 'pieces in stock'])
    expect(words).toContain(text);
  const { ask } = await openPageScene(world);
  const { status, text } = await ask('/api/page');
  expect(status).toBe(200);
  const { pipelines } = JSON.parse(text) as PageModel;
  expect(pipelines.map(({ pipeline }) => pipeline)).toEqual(expect.arrayContaining(NAMES));
});
