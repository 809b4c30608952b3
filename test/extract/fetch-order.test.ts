import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fetchesOf } from '../../src/extract/fetch-order.ts';

it.each([
  ['is cut off', '{"fetch_id": "f0000000002'],
  ['is empty', ''],
  ['is of another fetch', '{"fetch_id": "f0000000009x"}'],
  ['is not as it was written', '{"fetch_id": "f0000000002x","crc32":"00000000"}'],
])('a record that %s is left out and told by name; the others are there', async (_, text) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-fetch-order-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const ids = ['f0000000001x', 'f0000000002x', 'f0000000003x'];
  for (const id of ids) await writeFile(path.join(folder, `${id}.json`), `{"fetch_id": "${id}"}`);
  await writeFile(path.join(folder, `${ids[1]}.json`), text);
  const [found, told]: [string[], string[]] = [[], []];
  const names = ids.map((id) => `${id}.json`);
  for await (const fetch of fetchesOf(folder, names, (message) => told.push(message))) found.push(fetch.fetch_id);
  expect(found).toEqual([ids[0], ids[2]]);
  expect(told).toEqual([expect.stringContaining(path.join(folder, `${ids[1]}.json`))]);
});
