/** The lake's files are open to any engine: a reader that shares no code with DuckDB finds in them what was sent, to the last digit. */
import { readFile } from 'node:fs/promises';
import { type FileMetaData, parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { beforeAll, describe, expect, it } from 'vitest';
import { orders } from '../../pipelines/orders.ts';
import { promotions } from '../../pipelines/promotions.ts';
import type { Day, DayRange } from '../../src/core/days.ts';
import { type Pipeline, storedColumns } from '../../src/core/pipeline.ts';
import type { SliceContent } from '../../src/core/records.ts';
import { normaliseText } from '../support/normalise.ts';
import { plainDecimals } from '../support/plain-decimals.ts';

interface Read {
  readonly content: SliceContent;
  readonly metadata: FileMetaData;
  /** Decimals as whole numbers of millionths, times in milliseconds, JSON as text. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The files that an answer becomes, by day. */
async function filesOf(pipeline: Pipeline, answer: string, range: DayRange): Promise<Map<string, Read>> {
  const files = new Map<string, Read>();
  await normaliseText(pipeline, answer, range, undefined, async ({ slices }) => {
    for (const { content, file } of slices) if (file) files.set(content.day, await read(content, file));
  });
  return files;
}

async function read(content: SliceContent, file: string): Promise<Read> {
  const bytes = await readFile(file);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const metadata = parquetMetadata(buffer);
  const parsers = { jsonFromBytes: (bytes: Uint8Array) => bytes && new TextDecoder().decode(bytes) };
  const rows = await parquetReadObjects({ file: buffer, metadata: plainDecimals(metadata), compressors, parsers });
  return { content, metadata, rows };
}

const item = (id: string, more: string) =>
  `{"orderDate":"2026-03-01","orderDateTime":"2026-03-01 23:30:00","orderId":"${id}","orderItemId":"1"${more}}`;

// Not in the order of the file, and on two days.
const ANSWER = `{"items":[
  ${item('C9', ',"priceExclVat":999999999999.999999,"priceInclVat":-999999999999.999999,"commission":0.1,"quantity":9007199254740993')},
  ${item('A1', ',"priceExclVat":12.10,"commissionPercentage":7.25,"productTitle":"Größe 42 – 日本 🚲","status":"Geaccepteerd","statusFinal":true,"voucher":9007199254740993.10')},
  {"orderDate":"2026-03-02","orderId":"Z1","orderItemId":"1","quantity":1},
  ${item('B5', ',"priceExclVat":0.000001,"approvedForPayment":false,"name":""')}
]}`;

const range = { from: '2026-03-01' as Day, to: '2026-03-03' as Day };

describe('the file of a slice', () => {
  let file: Read;
  let days: string[];
  beforeAll(async () => {
    const files = await filesOf(orders, ANSWER, range);
    days = [...files.keys()];
    file = files.get('2026-03-01')!;
  });

  it('is there for every day that has rows', () => {
    expect(days).toEqual(['2026-03-01', '2026-03-02']);
    expect(file.rows).toHaveLength(3);
    expect(Number(file.metadata.num_rows)).toBe(3);
  });

  it('holds the rows in the declared order', () => {
    expect(file.rows.map((row) => row.order_id)).toEqual(['A1', 'B5', 'C9']);
  });

  it('holds amounts exactly, as decimals of six places', () => {
    const amounts = file.rows.map((row) => [
      row.price_excl_vat,
      row.price_incl_vat,
      row.commission,
      row.commission_percentage,
    ]);
    expect(amounts).toEqual([
      [12_100_000n, null, null, 7_250_000n],
      [1n, null, null, null],
      [999_999_999_999_999_999n, -999_999_999_999_999_999n, 100_000n, null],
    ]);
    const decimals = file.metadata.schema.filter(({ converted_type }) => converted_type === 'DECIMAL');
    expect(decimals.map(({ name }) => name)).toEqual(
      orders.columns.filter(({ kind }) => kind === 'money' || kind === 'percentage').map(({ column }) => column),
    );
    expect(new Set(decimals.map(({ precision, scale, type }) => `${type} ${precision} ${scale}`))).toEqual(
      new Set(['INT64 18 6']),
    );
  });

  it('holds counts, truths, texts and days as they were sent', () => {
    expect(file.rows[0]).toMatchObject({
      order_date: new Date('2026-03-01T00:00:00Z'),
      product_title: 'Größe 42 – 日本 🚲',
      status: 'Geaccepteerd',
      status_group: 'approved',
      status_final: true,
      order_date_time: '2026-03-01 23:30:00',
      order_local_time: new Date('2026-03-01T23:30:00Z'),
      order_utc_time: new Date('2026-03-01T22:30:00Z'),
      extra: '{"voucher":9007199254740993.10}',
      fetch_id: 'f-test',
    });
    expect(file.rows[1]).toMatchObject({ approved_for_payment: false, name: '' });
    expect(file.rows[2]).toMatchObject({ quantity: 9007199254740993n });
  });

  it('has the declared columns, with their field ids and kinds', () => {
    const [, ...columns] = file.metadata.schema;
    const wanted = storedColumns(orders);
    expect(columns.map(({ name, field_id }) => [name, field_id])).toEqual(wanted.map(({ column, id }) => [column, id]));
    const physical = new Map(columns.map(({ name, type }) => [name, type]));
    const types = {
      day: 'INT32',
      count: 'INT64',
      boolean: 'BOOLEAN',
      text: 'BYTE_ARRAY',
      'utc-time': 'INT64',
      'local-time': 'INT64',
      json: 'BYTE_ARRAY',
    };
    for (const [kind, type] of Object.entries(types))
      expect(wanted.filter((c) => c.kind === kind).map((c) => physical.get(c.column))).toContain(type);
  });

  it('tells an instant from a time on the wall', () => {
    const instants = file.metadata.schema.flatMap(({ name, logical_type }) =>
      logical_type?.type === 'TIMESTAMP' ? [[name, logical_type.isAdjustedToUTC, logical_type.unit]] : [],
    );
    expect(instants).toEqual([
      ['order_local_time', false, 'MICROS'],
      ['order_utc_time', true, 'MICROS'],
      ['valid_from', true, 'MICROS'],
    ]);
  });

  it('says in its metadata what it is made of, and by which answer', () => {
    const pairs = Object.fromEntries((file.metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value]));
    expect(pairs).toMatchObject({
      'partner_etl.layout': '1',
      'partner_etl.pipeline': 'orders',
      'partner_etl.version': String(orders.version),
      'partner_etl.day': '2026-03-01',
      'partner_etl.digest': file.content.digest,
      'partner_etl.fetch_id': 'f-test',
    });
  });

  it('is compressed with zstd, every column of it', () => {
    const codecs = file.metadata.row_groups.flatMap(({ columns }) => columns.map((c) => c.meta_data?.codec));
    expect(codecs).toHaveLength(storedColumns(orders).length);
    expect(new Set(codecs)).toEqual(new Set(['ZSTD']));
  });

  it('adds up to the control sums', () => {
    const inMillionths = (text: string | null | undefined) => BigInt(String(text).replace('.', ''));
    const sum = (column: string) => file.rows.reduce((all, row) => all + ((row[column] as bigint | null) ?? 0n), 0n);
    for (const column of ['price_excl_vat', 'price_incl_vat', 'commission', 'commission_percentage'])
      expect(sum(column)).toBe(inMillionths(file.content.sums[column]));
    expect(sum('quantity')).toBe(BigInt(file.content.sums.quantity ?? 0));
  });
});

describe('the declared order', () => {
  const day = { from: range.from, to: range.from };
  const keysOf = async (of: readonly { readonly siteCode: string; readonly name?: string }[]) => {
    const items = of.map((row, i) => JSON.stringify({ date: '2026-03-01', clicks: i, ...row }));
    const { rows } = (await filesOf(promotions, `{"items":[${items}]}`, day)).get(day.from)!;
    expect(new Set(rows.map((row) => Number(row.clicks))).size).toBe(of.length);
    return rows.map((row) => `${row.site_code} ${row.name ?? '~'}`);
  };

  it('holds for a thousand rows that come in any order', async () => {
    const rows = Array.from({ length: 1000 }, (_, i) => ({
      siteCode: `s${i % 3}`,
      ...(i % 7 === 0 ? {} : { name: `name ${String((i * 389) % 1000).padStart(4, '0')}` }),
    }));
    const keys = await keysOf(rows);
    expect(keys).toEqual([...keys].sort());
  });

  it('holds where only the missing values stand elsewhere', async () => {
    const rows = ['a', null, 'b', null, 'c'].map((name) => ({ siteCode: 's', ...(name === null ? {} : { name }) }));
    expect(await keysOf(rows)).toEqual(['s a', 's b', 's c', 's ~', 's ~']);
  });
});
