/** A body that never ends stops at the limit, and leaves nothing on the disk. */
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { createGzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { orders } from '../../pipelines/orders.ts';
import { receive } from '../../src/extract/answer.ts';
import { emptyRawStore } from './lookup-scene.ts';

const MOST = 4_000_000;

/** What was sent so far, in bytes. */
interface Sent {
  bytes: number;
}

async function* endless(sent: Sent, beginning: string, again: string): AsyncGenerator<Buffer> {
  yield Buffer.from(beginning);
  for (;;) {
    const chunk = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)));
    sent.bytes += chunk.length;
    yield chunk;
  }
}

async function* packed(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level: 9 });
  for await (const chunk of body) {
    gzip.write(chunk);
    await new Promise<void>((done) => gzip.flush(() => done()));
    for (let part = gzip.read(); part !== null; part = gzip.read()) yield part as Buffer;
  }
}

test.each<[string, string, string, boolean]>([
  ['items without end', '{"items":[', '{"orderId":"1"},', false],
  ['one text without end', '{"items":[{"orderId":"', 'x', false],
  ['spaces without end behind the answer', '{"items":[]}', ' ', false],
  ['a gzip bomb', '{"items":[', '  ', true],
])('%s', async (_, beginning, again, isGzip) => {
  const { home, raw } = await emptyRawStore();
  const folder = path.join(home, 'window');
  await mkdir(folder);
  const sent: Sent = { bytes: 0 };
  const plain = endless(sent, beginning, again);
  const body = isGzip ? packed(plain) : plain;
  const answer = { fetchId: 'f1', contentEncoding: isGzip ? 'gzip' : null, body };
  await expect(receive(answer, orders, raw, folder, MOST)).rejects.toMatchObject({
    ...{ kind: 'failed', code: 'answer_too_large', message: expect.stringContaining(`larger than ${MOST} bytes`) },
    hint: expect.stringContaining('service.answerMiB'),
  });
  expect(sent.bytes).toBeLessThan(3 * MOST);
  expect((await readdir(home, { recursive: true })).filter((name) => /body|refused/.test(name))).toEqual([]);
});
