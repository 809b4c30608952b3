// Appends numbered deliveries to an inbox as fast as it can, many at once, and prints the number of each that was answered, a line
// each. Arguments are the build's folder, the inbox, the first number, how many at once and the bytes of a segment. Runs until it is killed.
import { writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, folder, first, atOnce, segmentBytes] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(build, file)).href);
const { InboxWriter } = await load('src/extract/inbox.js');
const { systemClock } = await load('src/core/clock.js');

const nothing = () => {};
const writer = await InboxWriter.open({
  folder,
  clock: systemClock,
  sealAfterMs: 100,
  segmentBytes: Number(segmentBytes),
  mostBytes: 2 ** 40,
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
});
let next = Number(first);
async function appendForEver() {
  for (;;) {
    const number = next++;
    const body = Buffer.from(`${number} ${'x'.repeat(number % 700)}`);
    await writer.append({
      receivedAtMs: systemClock.now(),
      sourceAddress: '127.0.0.1',
      keyId: '0',
      method: 'POST',
      body,
    });
    writeSync(1, `${number}\n`);
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, appendForEver));
