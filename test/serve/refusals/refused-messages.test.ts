import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Refusal } from '../../../src/serve/refusals/refusals.ts';
import { type RefusedMessage, RefusedMessages } from '../../../src/serve/refusals/refused-messages.ts';
import { FakeClock } from '../../support/clock.ts';
import { collectingLog, type LogLine, temporaryFolder } from '../receiver/scene.ts';

const KiB = 1024;

interface Place {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly log: LogLine[];
  open(mostKiB?: number): Promise<RefusedMessages>;
}

async function place(): Promise<Place> {
  const folder = path.join(await temporaryFolder(), 'refused');
  const clock = new FakeClock();
  const log: LogLine[] = [];
  const open = (mostKiB = 1024) =>
    RefusedMessages.open({ folder, mostBytes: mostKiB * KiB, clock, log: collectingLog(log) });
  return { folder, clock, log, open };
}

function refusedBecause(reason: Refusal, parts: Partial<RefusedMessage> = {}): RefusedMessage {
  return {
    reason,
    receivedAtMs: Date.UTC(2026, 2, 14),
    sourceAddress: '35.204.195.116',
    method: 'POST',
    rawHeaders: ['Host', 'x', 'Signature', 'keyId=0'],
    body: Buffer.from('{}'),
    ...parts,
  };
}

/** Reasons by the names of the files, the oldest first. */
async function reasonsIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort().map((name) => name.split('.')[1]!);
}

/** Keeps one message after the other, each a second later, and waits until its file is written. */
async function keepEach(messages: RefusedMessages, clock: FakeClock, each: readonly RefusedMessage[]): Promise<void> {
  for (const message of each) {
    messages.keep(message);
    await messages.settled();
    clock.set(clock.now() + 1000);
  }
}

describe('a message that is kept', () => {
  test('tells why, when, from where, and its head and body', async () => {
    const { folder, open } = await place();
    const messages = await open();
    messages.keep(refusedBecause('bad_message', { detail: 'event must be an object', body: Buffer.from([0, 255]) }));
    await messages.settled();
    const [name = ''] = await readdir(folder);
    expect(name).toMatch(/^f[0-9a-z]{18}\.bad_message\.json$/);
    expect(JSON.parse(await readFile(path.join(folder, name), 'utf8'))).toEqual({
      reason: 'bad_message',
      detail: 'event must be an object',
      receivedAt: '2026-03-14T00:00:00.000Z',
      sourceAddress: '35.204.195.116',
      method: 'POST',
      headers: [
        ['Host', 'x'],
        ['Signature', 'keyId=0'],
      ],
      bodyBytes: 2,
      bodyBase64: 'AP8=',
    });
    expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
  });

  test('has no more headers than fit, no credentials, and nothing that a terminal would obey', async () => {
    const { folder, open } = await place();
    const messages = await open();
    const rawHeaders = [
      ...['Authorization', 'Bearer secret-of-somebody', 'X', `\u009b2J${'y'.repeat(20_000)}`],
      ...Array.from({ length: 400 }, () => 'z'),
    ];
    messages.keep(refusedBecause('no_signature', { rawHeaders }));
    await messages.settled();
    const [name = ''] = await readdir(folder);
    const text = await readFile(path.join(folder, name), 'utf8');
    expect(text).toMatch(/^[\n -~]+$/);
    expect(text).not.toContain('secret-of-somebody');
    expect(text.length).toBeLessThan(6000);
  });
});

describe('how many are kept', () => {
  test('two a second and reason of what anybody can send', async () => {
    const { folder, clock, open } = await place();
    const messages = await open();
    for (let i = 0; i < 1000; i++) messages.keep(refusedBecause('wrong_signature', { body: Buffer.from(String(i)) }));
    messages.keep(refusedBecause('unknown_key'));
    await messages.settled();
    expect(await reasonsIn(folder)).toHaveLength(3);
    clock.set(clock.now() + 1000);
    for (let i = 0; i < 1000; i++) messages.keep(refusedBecause('wrong_signature', { body: Buffer.from(String(i)) }));
    await messages.settled();
    expect(await reasonsIn(folder)).toHaveLength(5);
  });

  test('every one that was signed, each body once', async () => {
    const { folder, open } = await place();
    const messages = await open();
    for (let i = 0; i < 300; i++) messages.keep(refusedBecause('too_old', { body: Buffer.from(String(i % 20)) }));
    await messages.settled();
    expect(await reasonsIn(folder)).toHaveLength(20);
  });

  test('of signed ones that come faster than a disk writes, some', async () => {
    const { folder, open } = await place();
    const messages = await open();
    for (let i = 0; i < 300; i++) messages.keep(refusedBecause('not_json', { body: Buffer.from(String(i)) }));
    await messages.settled();
    expect(await reasonsIn(folder)).toHaveLength(32);
  });

  test.each<Refusal>(['not_found', 'wrong_method', 'too_large', 'encoded', 'wrong_source', 'bad_http'])(
    'none that is %s',
    async (reason) => {
      const { folder, open } = await place();
      const messages = await open();
      messages.keep(refusedBecause(reason));
      await messages.settled();
      expect(await reasonsIn(folder)).toEqual([]);
    },
  );

  test('none at all where the settings leave no room', async () => {
    const { folder, open } = await place();
    const messages = await open(0);
    messages.keep(refusedBecause('not_json'));
    await messages.settled();
    expect(await reasonsIn(folder)).toEqual([]);
  });
});

describe('the room', () => {
  const unsigned = Array.from({ length: 10 }, (_, i) => refusedBecause(i < 5 ? 'no_signature' : 'unknown_key'));
  const signed = Array.from({ length: 10 }, (_, i) => refusedBecause('too_old', { body: Buffer.from(String(i)) }));

  test('is kept by deleting the oldest, and forgeries do not push out what was signed', async () => {
    const { folder, clock, open } = await place();
    // A file takes a block of 4 KiB: four for each half.
    const messages = await open(32);
    await keepEach(messages, clock, signed);
    await keepEach(messages, clock, unsigned);
    expect(await reasonsIn(folder)).toEqual([...Array(4).fill('too_old'), ...Array(4).fill('unknown_key')]);
  });

  test('is kept by the next receiver as well, also when it has less', async () => {
    const { folder, clock, open } = await place();
    await keepEach(await open(32), clock, [...signed, ...unsigned]);
    const messages = await open(16);
    expect(await reasonsIn(folder)).toEqual(['too_old', 'too_old', 'unknown_key', 'unknown_key']);
    await keepEach(messages, clock, [refusedBecause('empty_body')]);
    expect(await reasonsIn(folder)).toEqual(['too_old', 'too_old', 'unknown_key', 'empty_body']);
  });

  test('is for these files alone: others in the folder are left where they are', async () => {
    const { folder, clock, open } = await place();
    await open();
    await writeFile(path.join(folder, 'note.txt'), 'x'.repeat(100_000));
    await keepEach(await open(8), clock, unsigned);
    expect((await readdir(folder)).sort()).toEqual([expect.stringMatching(/^f.*unknown_key/), 'note.txt']);
  });
});

test('a folder that cannot be written is said once a minute, and does no harm', async () => {
  const { folder, clock, log, open } = await place();
  const messages = await open();
  await rm(folder, { recursive: true });
  await keepEach(messages, clock, Array(5).fill(refusedBecause('no_signature')));
  expect(log.map(({ message }) => message)).toEqual([expect.stringContaining('cannot be kept')]);
  clock.set(clock.now() + 60_000);
  await keepEach(messages, clock, [refusedBecause('no_signature')]);
  expect(log).toHaveLength(2);
});
