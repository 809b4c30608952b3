/** A DuckLake in a bucket of moto's, a second opinion on S3 beside the suite's own server: it is filled, changed, tidied and read back. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { pipelines } from '../../../pipelines/index.ts';
import { orders } from '../../../pipelines/orders.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { S3Access } from '../../../src/core/ducklake.ts';
import { openDucklakeTarget } from '../../../src/warehouse/ducklake/target.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { HANG_MS } from '../../support/hang.ts';
import { freePort } from '../../support/postgres.ts';
import { pythonWith } from '../../support/python.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../../warehouse/bench.ts';
import { type DucklakeWarehouse, ducklakeWarehouses } from '../../warehouse/ducklake/warehouse.ts';

const extensions = await extensionsFolder();
const python = await pythonWith('moto', ['moto[server]==5.1.22']);

/** More than DuckLake keeps in its catalog. */
const items = (name: string) =>
  Array.from({ length: 200 }, (_, i) => ({ order_id: `${name}${i}`, order_item_id: '1', commission: '0.010001' }));

const daysAhead = (days: number) => ({ now: () => Date.now() + days * 86_400_000, sleep: systemClock.sleep });

describe.skipIf(extensions === null || python === null)('a bucket of moto', () => {
  let server: ChildProcess;
  let access: S3Access;
  let maker: SliceMaker;
  beforeAll(async () => {
    const port = await freePort();
    server = spawn(python!, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    const endpoint = `http://127.0.0.1:${port}`;
    access = { keyId: 'key', secret: 'secret', sessionToken: null, region: 'us-east-1', endpoint };
    const made = async () => expect((await fetch(`${endpoint}/lake`, { method: 'PUT' })).status).toBe(200);
    await vi.waitFor(made, { timeout: HANG_MS, interval: 100 });
    maker = await SliceMaker.open();
  });
  afterAll(async () => {
    await maker.close();
    const end = once(server, 'exit');
    server.kill();
    await end;
  });

  it('holds what was published, as it is now and as it was', async () => {
    const keysIn = async () =>
      (await (await fetch(`${access.endpoint}/lake?list-type=2`)).text()).match(/<Key>/g) ?? [];
    const noCopy = async () => Promise.reject(new Error('there is no template'));
    const inMoto = async () => ({ data: 's3://lake/one/', s3: access, copy: noCopy, remove: async () => undefined });
    const warehouse = (await ducklakeWarehouses(extensions!, inMoto)('none')) as DucklakeWarehouse;
    const at = { ...warehouse.at, snapshotDays: 30 };
    try {
      const target = warehouse.open();
      const [first, second] = [day('2026-03-01'), day('2026-03-02')];
      const both = (name: string) =>
        Promise.all([first, second].map((on) => maker.make(orders, on, items(`${name}-${on}-`))));
      for (const name of ['a', 'b', 'c']) await target.publish(publicationOf(name, await both(name)));
      const read = () =>
        rowsOf(
          target,
          `SELECT order_date, count(*), sum(commission), min(order_id) FROM warehouse.fact_order_item GROUP BY ALL ORDER BY ALL`,
        );
      const now = [
        ['2026-03-01', '200', '2.000200', 'c-2026-03-01-0'],
        ['2026-03-02', '200', '2.000200', 'c-2026-03-02-0'],
      ];
      expect(await read()).toEqual(now);
      const before = (await keysIn()).length;
      for (const days of [40, 42]) {
        const keeper = openDucklakeTarget({ at, workDir: tmpdir(), clock: daysAhead(days), pipelines });
        await keeper.tidy();
        await keeper.close();
      }
      expect((await keysIn()).length).toBeLessThan(before);
      expect((await keysIn()).length).toBeGreaterThan(0);
      expect(await read()).toEqual(now);
      expect((await warehouse.open().receipts()).size).toBeGreaterThan(0);
    } finally {
      await warehouse.remove();
    }
  });
});
