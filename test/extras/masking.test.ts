/** Erased values in texts and answers: what is replaced, what is not, and that the same mark comes every time. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { Erasures } from '../../src/extras/masking/erasures.ts';
import { maskJson, maskText, scopesOf } from '../../src/extras/masking/mask-text.ts';
import { ErasureMasker } from '../../src/extras/masking/masker.ts';
import { openMasking } from '../../src/extras/masking/masking.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import { readErased } from '../../src/store/tables/erased.ts';

let folder: string;
let state: State;
let erasures: Erasures;
const scopes = scopesOf(pipelines);
const [orders, links] = [scopes.get('orders')!, scopes.get('push-links')!];
const ITEM = '5550001111';

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'etl-erasures-'));
  state = await openSqliteState(path.join(folder, 'state.db'));
  const subIds = ['user-1', 'é "q"\\', '12', 'a b/c'];
  ({ erasures } = (await Erasures.read(state.db)).with(subIds, ['1043946570'], [{ order: '1043946570', item: ITEM }]));
});
afterAll(async () => {
  await state.close();
  await rm(folder, { recursive: true, force: true });
});

const itemMark = (item: string) => erasures.itemMark('erased-5', item);
const item = (members: object) => `{"items":[${JSON.stringify(members)}]}`;

describe('in the answer of a report', () => {
  test.each<readonly [string, string, () => string]>([
    ['a sub-ID', '{"subId":"user-1"}', () => '{"subId":"erased-1"}'],
    ['one behind escapes', '{"subId":"\\u0075ser\\u002d1"}', () => '{"subId":"erased-1"}'],
    ['one of signs that must be escaped', '{"subId":"\\u00e9 \\"q\\"\\\\"}', () => '{"subId":"erased-2"}'],
    ['one with a NUL, which a loaded value has not', '{"subId":"user-1\\u0000"}', () => '{"subId":"erased-1"}'],
    ['one that came as a number', '{"subId":12,"quantity":12}', () => '{"subId":"erased-3","quantity":12}'],
    ['white space as it was', '{ "subId" :\n "user-1" }', () => '{ "subId" :\n "erased-1" }'],
    ['not a longer one', '{"subId":"user-12"}', () => '{"subId":"user-12"}'],
    [
      'not the name of a site that is the same',
      '{"siteName":"user-1","name":"12"}',
      () => '{"siteName":"user-1","name":"12"}',
    ],
    ['not an order that is called like a sub-ID', '{"orderId":"12"}', () => '{"orderId":"12"}'],
    [
      'inside a member that nobody knows',
      '{"more":{"url":"https://x/?s=user-1&o=1043946570","t":"a%20b%2Fc"}}',
      () => '{"more":{"url":"https://x/?s=erased-1&o=erased-5","t":"erased-4"}}',
    ],
    ['a member that is called so', '{"user-1":{"12":true}}', () => '{"erased-1":{"erased-3":true}}'],
    [
      'an order with its items, known or not, whatever comes first',
      '[{"orderItemId":"9","orderId":"1043946570"},{"orderItemId":"9","orderId":"1"}]',
      () => `[{"orderItemId":"${itemMark('9')}","orderId":"erased-5"},{"orderItemId":"9","orderId":"1"}]`,
    ],
    ['what is no sound JSON', '{"subId":"user-1","x":"user-1', () => '{"subId":"erased-1","x":"erased-1"'],
  ])('%s', (_, text, masked) => {
    expect(maskJson(erasures, text, orders)).toBe(masked());
    expect(maskJson(erasures, masked(), orders)).toBe(masked());
  });
});

it('in what is pushed and linked orders and items are replaced, and no sub-IDs', () => {
  const text = `{"shipmentId":"1043946570","items":[{"id":"${ITEM}"}],"status":"user-1","count":12}`;
  const masked = `{"shipmentId":"erased-5","items":[{"id":"${itemMark(ITEM)}"}],"status":"user-1","count":12}`;
  expect(maskJson(erasures, text, links)).toBe(masked);
});

it('in words a value is found where no letter or digit adjoins it', () => {
  const words = (text: string) => maskText(erasures, text);
  expect(words('order_id = 1043946570, of user-1.')).toBe('order_id = erased-5, of erased-1.');
  expect(words('user-1-b xuser-1 11043946570 user-1')).toBe('user-1-b xuser-1 11043946570 erased-1');
});

it('an answer is masked alike in whatever pieces it comes, and one without any value passes as it is', async () => {
  const text = item({ orderItemId: 'é', note: ['user-1', { a: 1 }], orderId: '1043946570', subId: 'user-1' });
  const whole = maskJson(erasures, text, orders);
  for (const size of [1, 7, 64, 4096]) {
    const masker = new ErasureMasker(erasures, orders);
    expect((await masked(masker, Buffer.from(text), size)).toString()).toBe(whole);
    expect(masker.found).toBe(1);
  }
  const other = Buffer.from([...Buffer.from('{"items":[{"subId":"'), 0xff, 0xfe, ...Buffer.from('"}]}  ')]);
  expect(await masked(new ErasureMasker(erasures, orders), other, 5)).toEqual(other);
});

async function masked(masker: ErasureMasker, bytes: Buffer, size: number): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const parts: Uint8Array[] = [];
  for await (const part of masker.through(pieces())) parts.push(part);
  return Buffer.concat(parts);
}

it('pipelines of the catalogue are left alone: an EAN may be somebody’s sub-ID', () => {
  expect([...scopes.keys()].sort()).toEqual([
    'commissions',
    'orders',
    'orders-history',
    'process-statuses',
    'process-statuses-history',
    'promotions',
    'push-deliveries',
    'push-links',
    'push-links-history',
    'push-messages',
  ]);
});

describe('the list', () => {
  const stored = async () =>
    JSON.stringify([await readErased(state.db), await state.db.selectFrom('erasure_key').selectAll().execute()]);

  it('recognises values when it is read again, gives new ones the next number, and says none of them', async () => {
    await erasures.save(state);
    const again = await Erasures.read(state.db);
    expect(again.markOf('sub-id', 'user-1')).toBe('erased-1');
    expect(again.markOf('order-id', 'user-1')).toBeNull();
    expect(again.itemMark('erased-5', ITEM)).toBe(itemMark(ITEM));
    const { values } = again.with(['user-1', 'user-2'], [], []);
    expect(values.map(({ mark }) => mark)).toEqual(['erased-1', 'erased-6']);
    expect(await stored()).toContain('erased-1');
    expect(await stored()).not.toMatch(/user-1|1043946570|5550001111/);
  });

  it('that another process makes longer counts from the next answer on', async () => {
    await erasures.save(state);
    const masking = openMasking(state.db, pipelines);
    const mask = async (subId: string) =>
      Buffer.from((await masking.masker('orders'))!.mask(Buffer.from(item({ subId })))).toString();
    expect(await mask('user-2')).toBe(item({ subId: 'user-2' }));
    const other = await openSqliteState(path.join(folder, 'state.db'));
    await (await Erasures.read(other.db)).with(['user-2'], [], []).erasures.save(other);
    await other.close();
    expect(await mask('user-2')).toBe(item({ subId: 'erased-6' }));
    expect(await mask('user-1')).toBe(item({ subId: 'erased-1' }));
  });
});
