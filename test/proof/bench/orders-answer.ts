/** An orders report of n items over up to 30 days as a file, about 520 bytes an item. */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

export const RANGE = { from: '2026-09-01', to: '2026-09-30' } as const;

/** The items lie evenly on the first `days` days of the range. */
export async function writeAnswer(file: string, items: number, days = 30): Promise<void> {
  await writeItems(file, items, (i) => item(i, items, days));
}

/** An answer of so many items, each of the given JSON text. */
export async function writeItems(file: string, items: number, textOf: (i: number) => string): Promise<void> {
  const out = createWriteStream(file, { highWaterMark: 1 << 20 });
  let text = '{"items":[';
  for (let i = 0; i < items; i++) {
    text += (i === 0 ? '' : ',') + textOf(i);
    if (text.length < 1 << 20) continue;
    if (!out.write(text)) await once(out, 'drain');
    text = '';
  }
  out.end(`${text}]}`);
  await once(out, 'finish');
}

export async function compress(file: string): Promise<void> {
  await pipeline(createReadStream(file), createGzip({ level: 1 }), createWriteStream(`${file}.gz`));
}

function item(i: number, items: number, days: number): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `2026-09-${two(1 + Math.floor((i * days) / items))}`;
  const cents = 100 + ((i * 7919) % 20_000);
  const money = (c: number) => `${Math.floor(c / 100)}.${two(c % 100)}`;
  const status = ['Open', 'Geaccepteerd', 'Geweigerd'][i % 3];
  return (
    `{"orderDate":"${day}","orderDateTime":"${day} ${two(i % 24)}:${two(i % 60)}:${two((i * 7) % 60)}",` +
    `"orderId":"${1_200_000_000 + Math.floor(i / 3)}","orderItemId":"${8_000_000_000 + i}",` +
    `"productTitle":"Een mooi product met een titel, nummer ${i % 5000} – extra groot","productId":"${9_200_000_000_000 + (i % 5000)}",` +
    `"chunkName":"Elektronica","siteName":"voorbeeld.nl","siteCode":"${1000 + (i % 4)}","frameType":"text-link",` +
    `"name":"campagne ${i % 50}","subId":"sub-${i % 1000}","status":"${status}","quantity":${1 + (i % 3)},` +
    `"priceExclVat":${money(Math.floor(cents / 1.21))},"priceInclVat":${money(cents)},"commissionPercentage":${[5, 7.5, 3][i % 3]},` +
    `"commission":${money(Math.floor(cents / 20))},"statusFinal":${i % 2 === 0},"approvedForPayment":${i % 4 === 0}}`
  );
}
