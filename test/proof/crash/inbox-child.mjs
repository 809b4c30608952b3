// Appends numbered deliveries to the inbox as fast as it can, many at once, and prints the number of each that was answered, a line
// each. Arguments are the build's folder, the home, the first number and how many at once. Runs until it is killed.
import { writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, home, first, atOnce] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(build, file)).href);
const { InboxWriter } = await load('src/serve/receiver/inbox-writer.js');
const { openSqliteState } = await load('src/store/sqlite/state.js');
const { systemClock } = await load('src/core/clock.js');

const nothing = () => {};
const state = await openSqliteState(path.join(home, 'state.db'));
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const writer = await InboxWriter.open({ state, clock: systemClock, mostBytes: 2 ** 40, log });
let next = Number(first);
async function appendForEver() {
  for (;;) {
    const number = next++;
    const from = { receivedAtMs: systemClock.now(), sourceAddress: '127.0.0.1', keyId: '0' };
    const about = { resource: 'SHIPMENT', resourceId: String(number), bodySha256: '' };
    await writer.append({ ...from, ...about, body: Buffer.from(`${number} ${'x'.repeat(number % 700)}`) });
    writeSync(1, `${number}\n`);
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, appendForEver));
