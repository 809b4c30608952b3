/** A DuckLake whose files lie in a bucket does what engines do in their own way; what is refused there is said by name. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orders } from '../../../pipelines/orders.ts';
import type { S3Access } from '../../../src/core/ducklake.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { day, publicationOf, SliceMaker } from '../../support/slices.ts';
import { rowsOf } from '../../warehouse/bench.ts';
import { conformance } from '../../warehouse/conformance.ts';
import { ducklakeWarehouses, type Files } from '../../warehouse/ducklake/warehouse.ts';

const extensions = await extensionsFolder();

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());

async function inBucket(access: S3Access = s3.access): Promise<Files> {
  const prefix = `bucket/${randomUUID()}/`;
  return {
    data: `s3://${prefix}`,
    s3: access,
    copy: async (from) => {
      const old = from.slice('s3://'.length);
      for (const [name, object] of s3.objects)
        if (name.startsWith(old)) s3.objects.set(prefix + name.slice(old.length), object);
    },
    remove: async () => {
      for (const name of s3.objects.keys()) if (name.startsWith(prefix)) s3.objects.delete(name);
    },
  };
}

describe.skipIf(extensions === null)('DuckLake in a bucket', () => {
  conformance(ducklakeWarehouses(extensions ?? '', () => inBucket()));

  describe('a bucket that refuses', () => {
    let maker: SliceMaker;
    beforeAll(async () => {
      maker = await SliceMaker.open();
    });
    afterAll(() => maker.close());

    it.each([
      ['another key', { keyId: 'nobody' }, 'AWS_ACCESS_KEY_ID'],
      ['another region', { region: 'us-east-1' }, 'AWS_REGION'],
    ])('%s: nothing is published, and it is said what to look at', async (_, change, variable) => {
      const access = { ...s3.access, ...change };
      const warehouse = await ducklakeWarehouses(extensions ?? '', () => inBucket(access))('none');
      try {
        const target = warehouse.open();
        const slice = await maker.make(orders, day('2026-03-01'), manyItems());
        await expect(target.publish(publicationOf('r1', [slice]))).rejects.toMatchObject({
          kind: 'usage',
          code: 'ducklake_bucket',
          hint: expect.stringContaining(variable),
        });
        expect((await target.receipts()).size).toBe(0);
        expect(await rowsOf(target, 'SELECT count(*) FROM etl.receipt')).toEqual([['0']]);
      } finally {
        await warehouse.remove();
      }
    });
  });
});

/** More than DuckLake would keep in its catalog. */
function manyItems() {
  return Array.from({ length: 20 }, (_, i) => ({ order_id: `o${i}`, order_item_id: '1', commission: '1' }));
}
