/** What a DuckLake alone can meet: hosts that publish at once, one that wakes up late, damage, what it was before, and what is refused. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { openDucklakeTarget } from '../../../src/warehouse/ducklake/target.ts';
import type { Target } from '../../../src/warehouse/target.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { startPooler } from '../../support/pooler.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../../warehouse/bench.ts';
import { type DucklakeWarehouse, ducklakeWarehouses } from '../../warehouse/ducklake/warehouse.ts';

const extensions = await extensionsFolder();
const newWarehouse = ducklakeWarehouses(extensions ?? '');

const DAY = day('2026-03-01');
const NEXT = day('2026-03-02');

let maker: SliceMaker;
beforeAll(async () => {
  maker = await SliceMaker.open();
});
afterAll(() => maker.close());

/** More than DuckLake keeps in its catalog. */
const items = (name: string, count = 20) =>
  Array.from({ length: count }, (_, i) => ({ order_id: `${name}${i}`, order_item_id: '1', commission: '1' }));

const slices = async (name: string, ...days: (typeof DAY)[]) =>
  Promise.all(days.map((one) => maker.make(orders, one, items(`${name}-${one}-`))));

const byDay = (target: Target) =>
  rowsOf(target, 'SELECT order_date, count(*), min(order_id) FROM warehouse.fact_order_item GROUP BY ALL ORDER BY ALL');

async function fresh(beginning: 'migrated' | 'none' = 'migrated'): Promise<DucklakeWarehouse> {
  const warehouse = (await newWarehouse(beginning)) as DucklakeWarehouse;
  onTestFinished(() => warehouse.remove());
  return warehouse;
}

describe.skipIf(extensions === null)('DuckLake', () => {
  it.each(['none', 'migrated'] as const)(
    'two hosts that load the same empty day at once load it once (%s)',
    async (beginning) => {
      const warehouse = await fresh(beginning);
      const both = await Promise.all(['a', 'b'].map((name) => slices(name, DAY)));
      await Promise.all(both.map((mine, i) => warehouse.open().publish(publicationOf(`r${i}`, mine))));
      const found = await byDay(warehouse.open());
      expect(found).toEqual([['2026-03-01', '20', expect.stringMatching(/^[ab]-2026-03-01-0$/)]]);
      expect(await rowsOf(warehouse.open(), 'SELECT count(*) FROM etl.receipt WHERE superseded_at IS NULL')).toEqual([
        ['1'],
      ]);
    },
  );

  it.each([
    ['the same empty day', DAY],
    ['another empty day', NEXT],
  ])('a host that has lost its lock and wakes up late does no harm: %s', async (_, other) => {
    const warehouse = await fresh();
    const mine = await slices('late', DAY);
    const late = warehouse.store();
    const publishing = late.change({ what: 'a late one' }, async (engine) => {
      await late.transaction(engine, async () => {
        await engine.run(`INSERT INTO warehouse.fact_order_item BY NAME
          SELECT 'default' AS account, seen.*, now() AS loaded_at FROM read_parquet('${mine[0]?.file}') AS seen`);
        await warehouse.ask(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
        await warehouse.open().publish(publicationOf('r2', await slices('quick', other)));
      });
      return { value: null, isWritten: true };
    });
    const error = await publishing.catch((thrown: unknown) => late.refusal(thrown));
    expect(error).toMatchObject({ kind: 'retry', code: 'ducklake_overtaken' });
    expect(await byDay(warehouse.open())).toEqual([[other, '20', `quick-${other}-0`]]);
    // Its next try begins from what is there now.
    await warehouse.open().publish(publicationOf('r3', mine));
    expect((await byDay(warehouse.open())).filter(([on]) => on === DAY)).toEqual([[DAY, '20', `late-${DAY}-0`]]);
  });

  it('what is erased is nowhere any more: not in a file, not in the catalog, not in what it was before', async () => {
    const warehouse = await fresh();
    const target = warehouse.open();
    const secret = 'somebody@example.com';
    const rows = items('x').map((item) => ({ ...item, sub_id: secret }));
    const few = items('y', 3).map((item) => ({ ...item, sub_id: secret }));
    await target.publish(publicationOf('r1', [await maker.make(orders, DAY, rows)]));
    await target.publish(publicationOf('r2', [await maker.make(orders, NEXT, few)]));
    expect(await holdersOf(warehouse, secret)).not.toEqual([]);
    const text = 'sub_id';
    const erased = await target.erase({
      isDryRun: false,
      tables: [
        {
          schema: 'warehouse',
          name: 'fact_order_item',
          respellings: [{ column: 'sub_id', isJson: false, text, where: 'sub_id IS NOT NULL', spell: () => 'erased' }],
        },
      ],
    });
    expect(erased).toBe(23);
    expect(await rowsOf(warehouse.open(), 'SELECT DISTINCT sub_id FROM warehouse.fact_order_item')).toEqual([
      ['erased'],
    ]);
    expect(await holdersOf(warehouse, secret)).toEqual([]);
  });

  it('retention lets go of what it was, and of files that nobody names', async () => {
    const warehouse = await fresh();
    const at = { ...warehouse.at, snapshotDays: 30 };
    const later = { now: () => Date.now() + 40 * 86_400_000, sleep: systemClock.sleep };
    const target = warehouse.open();
    for (const name of ['a', 'b', 'c']) await target.publish(publicationOf(name, await slices(name, DAY, NEXT)));
    const before = await byDay(target);
    expect(
      await rowsOf(
        target,
        `SELECT count(DISTINCT left(order_id, 1)) FROM warehouse.fact_order_item AT (VERSION => ${await snapshot(warehouse, -1)})`,
      ),
    ).toEqual([['1']]);
    expect(await target.oldSnapshots()).toBe(0);
    const keeper = openDucklakeTarget({ at, workDir: at.data, clock: later, pipelines });
    onTestFinished(() => keeper.close());
    expect(await keeper.oldSnapshots()).toBeGreaterThanOrEqual(3);
    const files = filesOf(warehouse).length;
    await keeper.tidy();
    expect(await keeper.oldSnapshots()).toBe(0);
    expect(await warehouse.ask('SELECT count(*) FROM lake.ducklake_snapshot')).toEqual(['1']);
    const tomorrow = openDucklakeTarget({
      at,
      workDir: at.data,
      clock: { ...later, now: () => later.now() + 2 * 86_400_000 },
      pipelines,
    });
    onTestFinished(() => tomorrow.close());
    await tomorrow.tidy();
    expect(filesOf(warehouse).length).toBeLessThan(files);
    expect(await byDay(target)).toEqual(before);
  });

  it('a file that is gone is damage, and a rebuild makes everything anew beside what is left', async () => {
    const warehouse = await fresh();
    const target = warehouse.open();
    await target.publish(publicationOf('r1', await slices('a', DAY)));
    for (const file of filesOf(warehouse)) rmSync(file);
    await expect(target.sums(orders)).rejects.toMatchObject({
      code: 'damaged_warehouse',
      hint: expect.stringContaining('rebuild --target ducklake'),
    });
    await target.publish({ ...publicationOf('r2', await slices('b', DAY)), afresh: true });
    expect(await byDay(target)).toEqual([[DAY, '20', `b-${DAY}-0`]]);
    expect(await warehouse.ask(`SELECT count(*) FROM pg_namespace WHERE nspname = 'lake_damaged'`)).toEqual(['1']);
  });

  it('the password of the catalog is not to be read by a statement', async () => {
    const warehouse = await fresh();
    const url = new URL(warehouse.at.catalogUrl);
    url.password = 'pa%3Ass-word';
    const target = openDucklakeTarget({
      at: { ...warehouse.at, catalogUrl: url.href },
      workDir: warehouse.at.data,
      clock: systemClock,
      pipelines,
    });
    onTestFinished(() => target.close());
    const seen = [
      ...(await rowsOf(target, 'SELECT path, to_json(options) FROM duckdb_databases()')),
      ...(await rowsOf(target, 'SELECT secret_string FROM duckdb_secrets()')),
    ];
    expect(JSON.stringify(seen)).toContain('postgres');
    expect(JSON.stringify(seen)).not.toMatch(/pa(?:%3A|:)ss-word/);
  });

  describe('is refused by name', () => {
    const refusalOf = async (warehouse: DucklakeWarehouse, change: Partial<DucklakeWarehouse['at']>) => {
      const target = openDucklakeTarget({
        at: { ...warehouse.at, ...change },
        workDir: path.join(warehouse.at.data, 'work'),
        clock: systemClock,
        pipelines,
      });
      const publishing = target.publish({ ...publicationOf('r1', await slices('a', DAY)) });
      const error = await publishing.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      await target.close();
      return error;
    };

    it('an extension that is not there, and one of another version', async () => {
      const warehouse = await fresh('none');
      const folder = mkdtempSync(path.join(tmpdir(), 'partner-etl-extensions-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const first = { kind: 'usage', code: 'extension', hint: expect.stringContaining('engine.extensions') };
      expect(await refusalOf(warehouse, { extensions: folder })).toMatchObject({
        ...first,
        message: expect.stringContaining('postgres_scanner.duckdb_extension'),
      });
      copyFileSync(
        path.join(extensions!, 'postgres_scanner.duckdb_extension'),
        path.join(folder, 'postgres_scanner.duckdb_extension'),
      );
      const bytes = readFileSync(path.join(extensions!, 'ducklake.duckdb_extension'));
      bytes.write('v1.5.4', bytes.lastIndexOf('v1.5.5'));
      writeFileSync(path.join(folder, 'ducklake.duckdb_extension'), bytes);
      expect(await refusalOf(warehouse, { extensions: folder })).toMatchObject({
        ...first,
        message: expect.stringMatching(/refuses .*ducklake\.duckdb_extension: .*v1\.5\.4/),
      });
    });

    it('a catalog whose messages are not English', async () => {
      const warehouse = await fresh('none');
      // The throw-away server has no other language: it is made to answer as one that has.
      await warehouse.ask(`CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql AS
        $$ SELECT CASE $1 WHEN 'lc_messages' THEN 'de_DE.UTF-8' ELSE pg_catalog.current_setting($1) END $$`);
      const name = new URL(warehouse.at.catalogUrl).pathname.slice(1);
      await warehouse.ask(`ALTER DATABASE "${name}" SET search_path = public, pg_catalog`);
      expect(await refusalOf(warehouse, {})).toMatchObject({
        kind: 'usage',
        code: 'ducklake_messages',
        hint: expect.stringContaining(`SET lc_messages = 'C'`),
      });
      expect(await warehouse.ask(`SELECT count(*) FROM pg_namespace WHERE nspname = 'lake'`)).toEqual(['0']);
    });

    it('a pooler that keeps no sessions', async () => {
      const warehouse = await fresh('none');
      const pooler = await startPooler(warehouse.at.catalogUrl);
      onTestFinished(() => pooler.close());
      expect(await refusalOf(warehouse, { catalogUrl: pooler.url })).toMatchObject({
        kind: 'usage',
        code: 'ducklake_pooler',
        hint: expect.stringContaining('PARTNER_ETL_DUCKLAKE_URL'),
      });
      expect(await warehouse.ask(`SELECT count(*) FROM pg_namespace WHERE nspname = 'lake'`)).toEqual(['0']);
    });

    it('a data path that moved', async () => {
      const warehouse = await fresh();
      expect(await refusalOf(warehouse, { data: path.join(tmpdir(), 'elsewhere') })).toMatchObject({
        kind: 'usage',
        code: 'ducklake_data',
        hint: expect.stringContaining('targets.ducklake.data'),
      });
    });

    it('a catalog that does not answer', async () => {
      const warehouse = await fresh('none');
      expect(await refusalOf(warehouse, { catalogUrl: 'postgres://nobody@127.0.0.1:1/none' })).toMatchObject({
        kind: 'retry',
        hint: expect.stringContaining('PARTNER_ETL_DUCKLAKE_URL'),
      });
    });
  });
});

function filesOf(warehouse: DucklakeWarehouse): string[] {
  const names = readdirSync(warehouse.at.data, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.parquet')).map((name) => path.join(warehouse.at.data, name));
}

async function snapshot(warehouse: DucklakeWarehouse, back: number): Promise<number> {
  const [newest] = await warehouse.ask('SELECT max(snapshot_id) FROM lake.ducklake_snapshot');
  return Number(newest) + back;
}

/** Tables of the catalog and files with this text, as bytes or as a value of Parquet. */
async function holdersOf(warehouse: DucklakeWarehouse, text: string): Promise<string[]> {
  const tables = await warehouse.ask(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'lake'`);
  const holders: string[] = [];
  for (const table of tables) {
    const [rows] = await warehouse.ask(
      `SELECT count(*) FROM lake."${table}" AS held WHERE held::text LIKE '%${text}%' OR encode(convert_to(held::text, 'UTF8'), 'escape') LIKE '%${text}%'`,
    );
    if (rows !== '0') holders.push(`${table}: ${rows}`);
  }
  const inFiles = await warehouse.store().read(async (engine) => {
    const found: string[] = [];
    for (const file of filesOf(warehouse)) {
      const { rows } = await engine.row(
        `SELECT count(*) AS rows FROM read_parquet('${file}') AS held WHERE CAST(held AS VARCHAR) LIKE '%${text}%'`,
      );
      if (rows !== 0n) found.push(path.basename(file));
    }
    return found;
  });
  return [...holders, ...inFiles];
}
