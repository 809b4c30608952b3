/** sql and ask as they are typed. */
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { openWorld, type World } from '../../support/nights.ts';
import { TextWriter } from '../surroundings.ts';
import { typedIn } from '../typed.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 4, lookbackDays: 2, windowDays: 2 });
  await world.night();
});
afterAll(() => world.close());

const typed = (words: readonly string[]) => typedIn(world, words);

/** With --json: what the one document on stdout says. */
async function document(...words: string[]): Promise<unknown> {
  return JSON.parse((await typed([...words, '--json'])).out);
}

describe('sql', () => {
  const query =
    "SELECT 12345678901234.567891::DECIMAL(20,6) AS amount, 9007199254740993 AS count, NULL AS none, 'a,\"b' AS text";

  test.each<[string[], string]>([
    [[], '               amount             count  none  text\n'],
    [[], '12345678901234.567891  9007199254740993     ∅  a,"b\n'],
    [['--format', 'csv'], 'amount,count,none,text\r\n12345678901234.567891,9007199254740993,,"a,""b"\r\n'],
    [['--format', 'json'], '"amount": "12345678901234.567891",\n    "count": "9007199254740993",\n    "none": null,'],
    [['--json'], '"count": "9007199254740993"'],
  ])('keeps every digit %j', async (options, part) => {
    const { code, out, err } = await typed(['sql', query, ...options]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(part);
  });

  it('redirected, prints every row; on a terminal a thousand, and says so', async () => {
    const many = 'SELECT range AS n FROM range(2500)';
    const piped = await typed(['sql', `-- all of them\n${many}`, '--format', 'csv']);
    expect([piped.code, piped.err, piped.out.split('\r\n').length]).toEqual([0, '', 2502]);
    expect(await document('sql', many)).toHaveLength(2500);
    const terminal = () => new TextWriter({ isTTY: true, columns: 80 });
    const shown = await typedIn(world, ['sql', many], { stdout: terminal(), stderr: terminal() });
    expect(shown.out.split('\n')).toHaveLength(1003);
    expect(shown.err).toBe('only the first 1000 rows are shown; --limit shows more\n');
  });

  it('says when there is more than it shows', async () => {
    const { code, out, err } = await typed([
      'sql',
      'SELECT order_id FROM warehouse.fact_order_item',
      '--limit',
      '2',
      '--format',
      'csv',
    ]);
    expect(code).toBe(0);
    expect(out.split('\r\n')).toHaveLength(4);
    expect(err).toBe('only the first 2 rows are shown; --limit shows more\n');
  });

  test.each([
    'DELETE FROM warehouse.fact_order_item',
    'UPDATE warehouse.fact_order_item SET quantity = 1',
    'DROP TABLE warehouse.fact_order_item',
    'CREATE TABLE mine AS SELECT 1',
    'SELECT 1; DELETE FROM etl.receipt',
    "ATTACH 'other.duckdb'",
    "COPY (SELECT 1) TO 'out.csv'",
    "SELECT * FROM read_csv('settings.yaml')",
    "SET memory_limit = '1TB'",
  ])('is read-only: %s', async (statement) => {
    const { code, out } = await typed(['sql', statement]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
  });

  it('and nothing of that happened', async () => {
    expect((await typed(['verify'])).code).toBe(0);
    expect(await readdir(world.home)).not.toContain('out.csv');
  });
});

describe('ask', () => {
  it('lists the questions', async () => {
    const { out } = await typed(['ask']);
    expect(out.split('\n')).toContain('17. Is everything here, and how fresh is it?');
    expect(await document('ask')).toHaveLength(20);
  });

  it('answers one by its number or some words, and says how to read it', async () => {
    const { code, out } = await typed(['ask', 'how', 'fresh']);
    expect(code).toBe(0);
    expect(out).toMatch(/^17\. Is everything here, and how fresh is it\?\n\n[\s\S]*\norders [\s\S]*\n\n- /);
    expect(await document('ask', '17')).toMatchObject({
      number: 17,
      reading: expect.arrayContaining([expect.any(String)]),
      rows: expect.arrayContaining([expect.objectContaining({ report: 'orders', missing_days: 0 })]),
    });
  });

  it('lists the candidates where words fit several, and refuses what fits none', async () => {
    const several = await typed(['ask', 'earn', 'most']);
    expect([several.code, several.out]).toEqual([2, '']);
    expect(several.err).toMatch(/5\. Which of my sites [\s\S]*20\. Which products earn me most\?/);
    expect(await typed(['ask', '21'])).toMatchObject({ code: 2, err: expect.stringContaining('partner-etl ask') });
  });
});
