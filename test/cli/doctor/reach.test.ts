import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkOwnReceiver, judgeReached, type Reached, reach } from '../../../src/cli/doctor/reach.ts';
import { systemClock } from '../../../src/core/clock.ts';
import {
  type AnnouncedReceiver,
  announcedReceiver,
  announceReceiver,
  newProofKey,
  proofOf,
  withdrawReceiver,
} from '../../../src/serve/receiver/proof.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { openReceiver, type SceneOptions } from '../../serve/receiver/scene.ts';
import { writeCertificate } from '../../support/push.ts';
import { HandClock } from '../surroundings.ts';

const clock = new HandClock();

/** A receiver that is at work, and what it announces. */
async function receiving(options: SceneOptions = {}) {
  const key = newProofKey();
  const { receiver, refused } = await openReceiver({ ...options, proofKey: key });
  return { receiver, refused, announced: { url: receiver.url, key } satisfies AnnouncedReceiver };
}

const own = async (announced: AnnouncedReceiver | null) => {
  const { state, detail, fix } = await checkOwnReceiver(announced, '/push', clock);
  return `${state}: ${detail.replaceAll(/:\d+\//g, ':PORT/')}; ${fix ?? 'nothing to fix'}`;
};

describe('our own receiver, at work', () => {
  test('refuses an unsigned message and proves who it is', async () => {
    const { announced, receiver } = await receiving();
    expect(await own(announced)).toBe(
      'ok: http://127.0.0.1:PORT/push is our receiver, which refuses an unsigned message; nothing to fix',
    );
    expect(receiver.counts.refused.no_signature).toBe(1);
    expect(receiver.counts.accepted).toBe(0);
  });

  test('does so with TLS, whatever name its certificate has', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'etl-reach-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { announced } = await receiving({ settings: { tls: await writeCertificate(folder) } });
    expect(await own(announced)).toMatch(/^ok: https:\/\/127\.0\.0\.1:PORT\/push is our receiver/);
  });

  test('is known also where it takes messages from the service alone', async () => {
    const { announced } = await receiving({ settings: { checkSource: 'always' } });
    expect(await own(announced)).toMatch(/^ok: .* takes messages from the service’s addresses alone/);
  });

  test('is known also at a path that is not its own', async () => {
    const { announced } = await receiving();
    const elsewhere = { ...announced, url: announced.url.replace('/push', '/hook') };
    expect(await own(elsewhere)).toMatch(/^broken: .* not to its path; let it lead to \/push, or set push\.path/);
  });

  test('answers no challenge that is none, and repeats none', async () => {
    const { announced } = await receiving();
    for (const challenge of ['', 'x', 'f'.repeat(33), 'F'.repeat(32), `${'f'.repeat(31)}é`]) {
      const headers = { 'x-partner-etl-challenge': encodeURI(challenge) };
      const answer = await fetch(announced.url, { method: 'POST', headers, body: '{}' });
      expect(answer.headers.has('x-partner-etl-proof')).toBe(false);
    }
    const challenge = '0'.repeat(32);
    const headers = { 'x-partner-etl-challenge': challenge };
    const answer = await fetch(announced.url, { method: 'POST', headers, body: '{}' });
    expect(answer.headers.get('x-partner-etl-proof')).toBe(proofOf(announced.key, challenge));
    expect(JSON.stringify([...answer.headers])).not.toContain(challenge);
  });
});

describe('what is not our receiver', () => {
  test('is said when none is at work, with the fix', async () => {
    expect(await own(null)).toMatch(/^warning: no receiver is at work here; start partner-etl serve/);
  });

  test('is said when it was killed', async () => {
    const { announced, receiver } = await receiving();
    await receiver.close();
    expect(await own(announced)).toMatch(/^broken: .* does not answer \(ECONNREFUSED\); start partner-etl serve/);
  });

  test('is said when it is one of another installation', async () => {
    const { announced } = await receiving();
    const other = { ...announced, key: newProofKey() };
    expect(await own(other)).toMatch(
      /^broken: .* answers 400, but it is not the receiver of this installation; end what/,
    );
    expect(await reach(announced.url, { clock, receiver: other })).toEqual({ status: 400, isOurs: false });
  });

  test('is asked as it is, without a redirect and without waiting for the body', async () => {
    const server = createServer(({ method }, answer) => {
      answer.writeHead(302, { location: '/push' }).write(`${method}, and no end`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await reach(url, { clock, receiver: null })).toEqual({ status: 302, isOurs: false });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await reach(url, { clock, receiver: null })).toEqual({ failed: 'ECONNREFUSED' });
  });
});

const [AT, PLAIN] = ['https://me.example/push', 'http://me.example/push'];
const ours = (status: number): Reached => ({ status, isOurs: true });
const other = (status: number): Reached => ({ status, isOurs: false });

test.each<[string, Reached, boolean, RegExp]>([
  [AT, ours(400), true, /^ok: .* refuses an unsigned message/],
  [AT, ours(403), true, /^ok: .* addresses alone/],
  [AT, ours(404), true, /^broken: .* not to its path; let it lead to \/push/],
  [AT, ours(503), true, /^warning: .* takes no message now; see the log/],
  [AT, ours(405), true, /^warning: .* something on the way answers 405; let the proxy pass POST/],
  [AT, other(400), true, /^warning: .* another receiver, or the proxy takes the header/],
  [AT, other(403), false, /^warning: .* none is at work here to compare it with; start partner-etl serve/],
  [AT, other(404), true, /^broken: .* answers 404; let it lead to the path \/push/],
  [AT, other(502), true, /^broken: .* finds no receiver; start partner-etl serve/],
  [AT, other(301), true, /^broken: .* a redirect, which no message follows; subscribe with/],
  [AT, other(200), true, /^warning: .* answers 200: not our receiver; see what answers there/],
  [AT, { failed: 'ECONNREFUSED' }, true, /^warning: .* cannot be reached from here \(ECONNREFUSED\); start/],
  [PLAIN, ours(400), true, /^broken: .* no https address; subscribe with one/],
  ['no \u001b[31maddress', ours(400), true, /^broken: no (?!.*\u001b)/],
])('a subscription to %j that gives %j is judged (receiving: %s)', (url, reached, isReceiving, expected) => {
  const { state, detail, fix } = judgeReached(url, reached, '/push', isReceiving);
  expect(`${state}: ${detail}; ${fix}`).toMatch(expected);
});

test('what a receiver announces is there until it ends', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-announced-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const state = await openSqliteState(path.join(home, 'state.db'));
  onTestFinished(() => state.close());
  expect(await announcedReceiver(state.db)).toBeNull();
  const receiver = { url: 'http://127.0.0.1:1/push', key: newProofKey() };
  await announceReceiver(state, receiver, systemClock);
  expect(await announcedReceiver(state.db)).toEqual(receiver);
  await withdrawReceiver(state);
  await withdrawReceiver(state);
  expect(await announcedReceiver(state.db)).toBeNull();
});
