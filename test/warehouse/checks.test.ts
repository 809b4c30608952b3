import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import type { Day } from '../../src/core/days.ts';
import { readChecks, sqlOn } from '../../src/warehouse/checks/checks.ts';
import type { SqlDialect } from '../../src/warehouse/target-name.ts';

const HEADER = { severity: 'block', about: 'a is a', pipeline: 'orders', fix: 'look' };
const text = (header: Readonly<Record<string, string>>, sql = 'SELECT 1') =>
  [...Object.entries(header).map(([key, value]) => `-- ${key}: ${value}`), sql].join('\n');

let own: string;
beforeEach(async () => {
  own = await mkdtemp(path.join(tmpdir(), 'partner-etl-checks-'));
});
afterEach(() => rm(own, { recursive: true }));

const write = (name: string, content: string) => writeFile(path.join(own, name), content);
const read = (engine: SqlDialect = 'duckdb') => readChecks(engine, own, pipelines);
const named = async (name: string, engine?: SqlDialect) => (await read(engine)).filter((check) => check.name === name);

describe('checks are read', () => {
  test('those that ship, for both engines alike, without a folder of the user', async () => {
    const [duckdb, postgres] = [
      await readChecks('duckdb', '/nowhere', pipelines),
      await readChecks('postgres', '/nowhere', pipelines),
    ];
    expect(duckdb.length).toBeGreaterThan(10);
    expect(duckdb.map(({ name, severity }) => [name, severity])).toEqual(
      postgres.map(({ name, severity }) => [name, severity]),
    );
  });

  test('with header, SELECT and file; comments and a semicolon at the end do not matter', async () => {
    await write('mine.sql', `\n-- why it is\n${text(HEADER, '\n-- more\nSELECT 1 -- one\n;\n')}`);
    expect(await named('mine')).toEqual([
      { ...HEADER, also: [], name: 'mine', file: path.join(own, 'mine.sql'), sql: 'SELECT 1 -- one\n' },
    ]);
  });

  test('one that warns may name more pipelines whose slices call for it', async () => {
    await write('mine.sql', text({ ...HEADER, severity: 'warn', pipeline: 'orders, promotions,products' }));
    expect(await named('mine')).toMatchObject([{ pipeline: 'orders', also: ['promotions', 'products'] }]);
  });

  test('one file is the same check of several pipelines, each with its own table, day, columns and name', async () => {
    const { pipeline: _, ...header } = { ...HEADER, severity: 'warn', each: 'promotions, commission-rates' };
    const sql = `SELECT {day} AS slice_day,
  count({column}),
FROM {table} WHERE {on_days:{day}} -- {pipeline}, {required}`;
    await write('mine.sql', text(header, sql));
    const [rates] = await named('commission_rates_mine');
    expect(rates).toMatchObject({ pipeline: 'commission-rates', also: [], severity: 'warn' });
    expect(rates?.sql.split('\n')).toEqual(
      expect.arrayContaining(['SELECT observed_on AS slice_day,', '  count(asked_price),', '  count(reason),']),
    );
    expect(rates?.sql).toContain('FROM warehouse."fact_commission_rate" WHERE {on_days:observed_on} --');
    expect(rates?.sql).toContain('-- commission-rates, "ean", "condition", "observed_on", "valid_from", "outcome"');
    expect(await named('promotions_mine')).toMatchObject([{ pipeline: 'promotions', name: 'promotions_mine' }]);
    await write('mine.sql', text({ ...header, each: 'promotions, nonsense' }, sql));
    await expect(read()).rejects.toMatchObject({ message: expect.stringContaining('there is no pipeline "nonsense"') });
  });

  test('one of the user takes the place of ours with the same name', async () => {
    await write('order_items_vat.sql', text({ ...HEADER, fix: 'mine' }));
    expect(await named('order_items_vat')).toMatchObject([{ fix: 'mine' }]);
  });

  test('one for an engine takes the place of that for both, and is not there for the other', async () => {
    await write('a.sql', text(HEADER, 'SELECT 1'));
    await write('a.duckdb.sql', text(HEADER, 'SELECT 2'));
    await write('b.postgres.sql', text(HEADER, 'SELECT 3'));
    expect(await named('a', 'duckdb')).toMatchObject([{ sql: 'SELECT 2' }]);
    expect(await named('a', 'postgres')).toMatchObject([{ sql: 'SELECT 1' }]);
    expect(await named('b', 'duckdb')).toEqual([]);
    expect(await named('b', 'postgres')).toMatchObject([{ sql: 'SELECT 3' }]);
  });

  test('other files of the folder are no matter', async () => {
    await write('README.md', 'hello');
    await write('old.sql.bak', 'hello');
    expect(await read()).toHaveLength((await readChecks('duckdb', '/nowhere', pipelines)).length);
  });
});

describe('a file that is no check is refused with its name and the reason', () => {
  const { severity: _, ...unsaid } = HEADER;
  const refused: [string, string, string, string][] = [
    ['no header', 'mine.sql', 'SELECT 1', 'no line "-- severity: …"'],
    ['no severity', 'mine.sql', text(unsaid), 'no line "-- severity: …"'],
    ['another severity', 'mine.sql', text({ ...HEADER, severity: 'fatal' }), '"fatal" and not block or warn'],
    ['a fix that is empty', 'mine.sql', text({ ...HEADER, fix: '' }), 'no line "-- fix: …"'],
    ['a pipeline that there is not', 'mine.sql', text({ ...HEADER, pipeline: 'order' }), 'no pipeline "order"'],
    ['a second pipeline that there is not', 'mine.sql', text({ ...HEADER, pipeline: 'orders, x' }), 'no pipeline "x"'],
    ['two pipelines to hold', 'mine.sql', text({ ...HEADER, pipeline: 'orders, products' }), 'it names several'],
    ['a header behind the SELECT', 'mine.sql', `SELECT 1\n${text(HEADER, '')}`, 'no line "-- severity: …"'],
    ['no SELECT', 'mine.sql', text(HEADER, ''), 'no SELECT'],
    ['nothing in it', 'mine.sql', '', 'no line "-- severity: …"'],
    ['a name with other letters', 'My-Check.sql', text(HEADER), 'its name'],
    ['an engine that there is not', 'mine.mysql.sql', text(HEADER), 'its name'],
  ];
  test.each(refused)('%s', async (_, name, content, reason) => {
    await write(name, content);
    const file = path.join(own, name);
    await expect(read()).rejects.toMatchObject({ kind: 'usage', code: 'check', concern: { file } });
    await expect(read()).rejects.toThrow(reason);
  });
});

test('the days that are looked at stand where the check asks for them, and all days are true', async () => {
  await write('mine.sql', text(HEADER, 'SELECT a FROM t WHERE {on_days:order_date} AND {on_days:b}'));
  const [check] = await named('mine');
  const one = `BETWEEN DATE '2026-03-01' AND DATE '2026-03-01'`;
  expect(sqlOn(check!, ['2026-03-01' as Day])).toBe(`SELECT a FROM t WHERE ("order_date" ${one}) AND ("b" ${one})`);
  expect(sqlOn(check!, [])).toBe('SELECT a FROM t WHERE (false) AND (false)');
  expect(sqlOn(check!, null)).toBe('SELECT a FROM t WHERE true AND true');
});

test('the days before those that are looked at come with them where the check asks for it', async () => {
  await write('mine.sql', text(HEADER, 'SELECT a FROM t WHERE {on_days:b:3}'));
  const [check] = await named('mine');
  const range = (from: string, to: string) => `"b" BETWEEN DATE '${from}' AND DATE '${to}'`;
  const days = ['2026-03-01', '2026-03-02', '2026-03-09'] as Day[];
  expect(sqlOn(check!, days)).toBe(
    `SELECT a FROM t WHERE (${range('2026-02-26', '2026-03-09')} AND (${range('2026-02-26', '2026-03-02')} OR ${range('2026-03-06', '2026-03-09')}))`,
  );
  expect(sqlOn(check!, [])).toBe('SELECT a FROM t WHERE (false)');
  expect(sqlOn(check!, null)).toBe('SELECT a FROM t WHERE true');
});
