import { appendFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { InboxWriter, sealedSegments } from '../../src/extract/inbox.ts';
import { InboxDepth } from '../../src/extract/inbox-depth.ts';
import { openSegments } from '../../src/extract/inbox-folder.ts';
import { FakeClock } from '../support/clock.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let folder: string;
let depth: InboxDepth;
beforeEach(async () => {
  const made = await mkdtemp(path.join(tmpdir(), 'etl-depth-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  folder = path.join(made, 'inbox');
  depth = new InboxDepth(folder);
});

async function writer(): Promise<InboxWriter> {
  const options = { folder, clock: new FakeClock(), sealAfterMs: 60_000, mostBytes: 64 * 1024 * 1024, log: silent };
  const opened = await InboxWriter.open(options);
  onTestFinished(() => opened.close());
  return opened;
}

const append = (inbox: InboxWriter, bytes = 100) =>
  inbox.append({ receivedAtMs: 0, sourceAddress: '::1', keyId: '0', method: 'POST', body: Buffer.alloc(bytes, 'x') });

test('where no receiver was ever at work, nothing waits', async () => {
  expect(await depth.read()).toEqual({ segments: 0, bytes: 0, messages: 0 });
});

test('messages are counted while the segment is written, when it is ready, and no more when it was taken in', async () => {
  const inbox = await writer();
  for (const expected of [1, 2, 3]) {
    await append(inbox);
    expect(await depth.read()).toMatchObject({ segments: 1, messages: expected });
  }
  await inbox.seal();
  await append(inbox);
  const both = await depth.read();
  expect(both).toEqual({ segments: 2, bytes: inbox.waitingBytes, messages: 4 });
  for (const { file } of await sealedSegments(folder)) await rm(file);
  expect(await depth.read()).toMatchObject({ segments: 1, messages: 1 });
});

test('what was counted is not read again', async () => {
  const inbox = await writer();
  for (let i = 0; i < 5; i++) await append(inbox);
  await inbox.seal();
  await depth.read();
  const [segment] = await sealedSegments(folder);
  await writeFile(segment!.file, Buffer.alloc(segment!.bytes));
  expect(await depth.read()).toEqual({ segments: 1, bytes: segment!.bytes, messages: 5 });
});

test('a message that is longer than what is read at once is one', async () => {
  const inbox = await writer();
  for (const bytes of [1_500_000, 10, 1_048_000, 10]) await append(inbox, bytes);
  await inbox.seal();
  expect(await depth.read()).toMatchObject({ messages: 4 });
});

test('a torn end and an impossible length end the count of their segment, and nothing else', async () => {
  const inbox = await writer();
  await append(inbox);
  await append(inbox);
  const [open] = await openSegments(folder);
  await truncate(open!.file, open!.bytes - 1);
  expect(await depth.read()).toMatchObject({ messages: 1 });
  await appendFile(open!.file, Buffer.alloc(1, 'x'));
  await appendFile(open!.file, Buffer.alloc(40, 0xff));
  expect(await depth.read()).toMatchObject({ segments: 1, messages: 2 });
});
