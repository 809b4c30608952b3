/**
 * CPU time that the splitter takes for order items of several shapes, and `JSON.parse` for the same bytes, the least of several rounds
 * after one to warm up. CPU time, so that other work on the machine matters less. Prints { shape: { bytes, splitMs, parseMs } }.
 * Arguments: MiB, rounds.
 */
import { Buffer } from 'node:buffer';
import { orders } from '../../../pipelines/orders.ts';
import { LIMITS } from '../../../src/core/limits.ts';
import type { Expect, SplitField } from '../../../src/json/interface.ts';
import { Splitter } from '../../../src/json/splitter.ts';

const CHUNK_BYTES = 64 * 1024;

const fields: SplitField[] = orders.columns.map(({ field, kind }) => ({ field, expect: expectOf(kind) }));

function expectOf(kind: string): Expect {
  if (kind === 'boolean') return 'boolean';
  return kind === 'money' || kind === 'percentage' || kind === 'count' ? 'number' : 'text';
}

export interface SplitTimes {
  readonly bytes: number;
  readonly splitMs: number;
  readonly parseMs: number;
}

type Value = string | number | boolean | null;
type Shape = (n: number) => Record<string, unknown>;

const statuses = ['Open', 'Geaccepteerd', 'Geweigerd'];

function order(n: number): Record<string, Value> {
  const price = ((n * 7919) % 50000) / 100;
  return {
    orderDate: '2024-03-17',
    orderDateTime: `2024-03-17 ${String(n % 24).padStart(2, '0')}:31:07`,
    orderId: String(1200000000 + n * 13),
    orderItemId: String(3400000000 + n * 17),
    productTitle: `Draadloze koptelefoon met ruisonderdrukking ${n % 997}`,
    productId: String(9200000000000 + n),
    chunkName: 'Koptelefoons',
    siteName: 'techtips',
    siteCode: String(1000000 + (n % 7)),
    frameType: 'Tekstlink',
    name: `artikel-${n % 91}`,
    subId: `campagne-${n % 13}`,
    status: statuses[n % 3]!,
    quantity: 1 + (n % 3),
    priceExclVat: price,
    priceInclVat: Math.round(price * 121) / 100,
    commissionPercentage: 5 + (n % 4),
    commission: Math.round(price * 5) / 100,
    statusFinal: n % 2 === 0,
    approvedForPayment: n % 5 === 0,
  };
}

const shapes: Record<string, Shape> = {
  'orders, compact': order,
  'orders, a third of the titles not ASCII': (n) => {
    const item = order(n);
    return n % 3 === 0 ? { ...item, productTitle: `Hoezen voor café-stoelen, 4 × élégant ${n % 997}` } : item;
  },
  'orders, fields left out here and there': (n) => {
    const item = order(n);
    if (n % 2 === 0) delete item.subId;
    if (n % 3 === 0) delete item.commission;
    if (n % 5 === 0) delete item.chunkName;
    return item;
  },
  'orders, numbers as text': (n) =>
    Object.fromEntries(Object.entries(order(n)).map(([k, v]) => [k, typeof v === 'number' ? String(v) : v])),
  'orders, one unknown field and one nested': (n) => ({
    ...order(n),
    currency: 'EUR',
    links: [{ rel: 'self', href: `https://example.test/orders/${n}` }],
  }),
  'unknown fields only': (n) => Object.fromEntries(Object.entries(order(n)).map(([k, v]) => [`x${k}`, v])),
};

function answerOf(shape: Shape, bytes: number, indent: number): Buffer {
  const parts: string[] = [];
  let size = 0;
  for (let n = 0; size < bytes; n++) {
    const text = JSON.stringify(shape(n), null, indent);
    parts.push(text);
    size += text.length + 1;
  }
  return Buffer.from(`{"items":[${parts.join(',')}]}`);
}

/** Milliseconds of CPU. */
function cpuOf(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

function split(answer: Buffer): void {
  let lineBytes = 0;
  const splitter = new Splitter({
    fields,
    limits: LIMITS,
    onLines: (lines) => {
      lineBytes += lines.length;
    },
    onReject: (reject) => {
      throw new Error(`the benchmark's own item was rejected: ${JSON.stringify(reject)}`);
    },
  });
  for (let at = 0; at < answer.length; at += CHUNK_BYTES) splitter.write(answer.subarray(at, at + CHUNK_BYTES));
  const result = splitter.end();
  if (result.items !== result.lines || lineBytes === 0) throw new Error('the benchmark lost lines');
}

function parse(answer: Buffer): void {
  const { items } = JSON.parse(answer.toString('utf8')) as { items: unknown[] };
  if (items.length === 0) throw new Error('the benchmark parsed nothing');
}

const [mebibytes = '32', rounds = '5'] = process.argv.slice(2);
const cases: [string, Shape, number][] = [
  ...Object.entries(shapes).map(([name, shape]): [string, Shape, number] => [name, shape, 0]),
  ['orders, indented', order, 2],
];
const told: Record<string, SplitTimes> = {};
for (const [name, shape, indent] of cases) {
  const answer = answerOf(shape, Number(mebibytes) * 1024 * 1024, indent);
  const least = (work: (answer: Buffer) => void) => {
    work(answer);
    return Math.min(...Array.from({ length: Number(rounds) }, () => cpuOf(() => work(answer))));
  };
  told[name] = { bytes: answer.length, splitMs: least(split), parseMs: least(parse) };
}
process.stdout.write(JSON.stringify(told));
