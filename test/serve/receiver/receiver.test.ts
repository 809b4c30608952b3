import { copyFile, readdir } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import path from 'node:path';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { EtlError } from '../../../src/core/errors.ts';
import { startReceiver } from '../../../src/serve/receiver/receiver.ts';
import { FakeClock } from '../../support/clock.ts';
import { messageText, signatureLine, signed, signingKey, writeCertificate } from '../../support/push.ts';
import {
  answersIn,
  answerTo,
  delivery,
  exchange,
  KEY,
  openReceiver,
  PUSH,
  requestBytes,
  type Scene,
  temporaryFolder,
} from './scene.ts';

/** An inbox that holds on to what it is given until it is let go. */
function heldInbox() {
  const waiting: { readonly done: () => void; readonly failed: (error: Error) => void }[] = [];
  const watchers: { readonly count: number; readonly done: () => void }[] = [];
  return {
    waiting,
    append: () =>
      new Promise<void>((done, failed) => {
        waiting.push({ done, failed });
        for (const { count, done } of watchers) if (waiting.length >= count) done();
      }),
    holds: (count: number) =>
      new Promise<void>((done) => {
        if (waiting.length >= count) done();
        else watchers.push({ count, done });
      }),
  };
}

describe('a message', () => {
  test('is answered 204 without a body once it is on disk, with how it came', async () => {
    const { receiver, port, stored, clock } = await openReceiver();
    const received = await exchange(port, delivery());
    expect(received).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
    expect(received.split('\r\n\r\n')[1]).toBe('');
    expect(receiver.counts).toMatchObject({ accepted: 1, copies: 0, inHand: 0, keyFetches: 1 });
    const [first] = await stored();
    expect(first).toMatchObject({
      receivedAtMs: clock.now(),
      sourceAddress: '127.0.0.1',
      keyId: '0',
    });
    expect(Buffer.from(first!.body).toString()).toBe(messageText());
  });

  test('is not answered before it is on disk', async () => {
    const inbox = heldInbox();
    const { port, receiver } = await openReceiver({ inbox });
    const answer = answerTo(port, delivery());
    await inbox.holds(1);
    expect([receiver.counts.accepted, receiver.counts.inHand]).toEqual([0, 1]);
    inbox.waiting[0]!.done();
    expect(await answer).toBe('204');
    expect([receiver.counts.accepted, receiver.counts.inHand]).toEqual([1, 0]);
  });

  test.each([
    ['inbox_full', new EtlError('retry', 'inbox_full', 'the inbox is full')],
    ['inbox_failed', new EtlError('retry', 'inbox_failed', 'the disk is gone')],
    ['inbox_failed', new Error('anything else')],
  ] as const)('that cannot be stored is answered 503 %s, to be sent again', async (word, error) => {
    const { port, receiver, log } = await openReceiver({ inbox: { append: () => Promise.reject(error) } });
    const received = await exchange(port, delivery());
    expect(answersIn(received)).toEqual([`503 ${word}`]);
    expect(received.toLowerCase()).toContain('\r\nretry-after: 60\r\n');
    expect(receiver.counts.deferred[word]).toBe(1);
    expect(log.map(({ fields }) => fields)).toEqual([
      { reason: word, count: 1, from: '127.0.0.1', detail: error.message },
    ]);
  });

  test('too many that wait for the disk are answered 503 at once', async () => {
    const inbox = heldInbox();
    const { port, receiver } = await openReceiver({ inbox });
    const one = delivery(messageText(), { isLast: false });
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.concat(Array(512).fill(one))));
    const over = new Promise((resolve) => socket.on('close', resolve));
    socket.resume();
    await inbox.holds(512);
    expect(await answerTo(port, delivery())).toBe('503 too_busy');
    for (const { done } of inbox.waiting) done();
    expect(receiver.counts.deferred.too_busy).toBe(1);
    socket.end();
    await over;
    expect(receiver.counts).toMatchObject({ accepted: 512, inHand: 0 });
  });

  test('with a key that could not be asked for is answered 503', async () => {
    const { port, receiver } = await openReceiver({
      fetchKeys: () => Promise.reject(new EtlError('usage', 'no_credentials', 'PARTNER_CLIENT_ID is not set')),
    });
    expect(await answerTo(port, delivery())).toBe('503 keys_unavailable');
    expect(receiver.counts).toMatchObject({ accepted: 0, keyFetches: 1, deferred: { keys_unavailable: 1 } });
  });

  test('with a new key is taken after one fetch', async () => {
    const next = signingKey('1');
    const listed = [[KEY.listed], [KEY.listed, next.listed]];
    const { port, clock, receiver } = await openReceiver({ fetchKeys: async () => listed.shift() ?? [] });
    expect(await answerTo(port, delivery())).toBe('204');
    clock.set(clock.now() + 60_000);
    expect(await answerTo(port, delivery(messageText({ resourceId: '2' }), { key: next }))).toBe('204');
    expect(receiver.counts.keyFetches).toBe(2);
  });

  test('that was signed and refused is kept; a forged one, too', async () => {
    const { port, folder, refused } = await openReceiver();
    await answerTo(port, delivery('{}'));
    await answerTo(port, delivery(messageText(), { key: signingKey('0') }));
    await refused.settled();
    const names = await readdir(path.join(folder, 'refused'));
    expect(names.map((name) => name.split('.')[1]).sort()).toEqual(['bad_message', 'wrong_signature']);
  });
});

describe('copies', () => {
  test('beyond those that are kept are answered 204 and only counted', async () => {
    const { port, receiver, stored } = await openReceiver({ settings: { copiesKept: 3 } });
    const answers: string[] = [];
    for (let i = 0; i < 10; i++) answers.push(await answerTo(port, delivery()));
    expect(answers).toEqual(Array(10).fill('204'));
    expect(await answerTo(port, delivery(messageText({ resourceId: 'other' })))).toBe('204');
    expect(receiver.counts).toMatchObject({ accepted: 4, copies: 7 });
    expect((await stored()).length).toBe(4);
  });

  test('are only counted when enough of them are on disk, not merely under way', async () => {
    const inbox = heldInbox();
    const { port, receiver } = await openReceiver({ inbox, settings: { copiesKept: 1 } });
    const both = [answerTo(port, delivery()), answerTo(port, delivery())];
    await inbox.holds(2);
    inbox.waiting[0]!.failed(new Error('no disk'));
    inbox.waiting[1]!.done();
    expect((await Promise.all(both)).sort()).toEqual(['204', '503 inbox_failed']);
    expect(await answerTo(port, delivery())).toBe('204');
    expect(receiver.counts).toMatchObject({ accepted: 1, copies: 1 });
  });

  test('that are not signed are none', async () => {
    const { port } = await openReceiver({ settings: { copiesKept: 1 } });
    await answerTo(port, delivery());
    expect(await answerTo(port, requestBytes({ body: messageText() }))).toBe('400 no_signature');
    expect(await answerTo(port, delivery(messageText(), { key: signingKey('0') }))).toBe('401 wrong_signature');
  });
});

describe('the log', () => {
  test('has a line a reason and minute, with how many there were', async () => {
    const { port, clock, log, receiver } = await openReceiver();
    const forged = requestBytes({ headers: [`Signature: ${signatureLine('9', 'QUJD')}`], body: '{}' });
    for (let i = 0; i < 5; i++) await answerTo(port, forged);
    for (let i = 0; i < 3; i++) await answerTo(port, requestBytes({ body: '{}' }));
    clock.set(clock.now() + 60_000);
    await answerTo(port, forged);
    await receiver.close();
    expect(log.map(({ level, fields }) => [level, fields.reason, fields.count, fields.keyId])).toEqual([
      ['warn', 'unknown_key', 1, '9'],
      ['warn', 'no_signature', 1, undefined],
      ['warn', 'unknown_key', 5, '9'],
      ['warn', 'no_signature', 2, undefined],
    ]);
  });

  test('says nothing of scanners that look for other things', async () => {
    const { port, log, receiver } = await openReceiver();
    for (const at of ['/.env', '/wp-login.php']) await answerTo(port, requestBytes({ method: 'GET', path: at }));
    await answerTo(port, requestBytes({ method: 'GET' }));
    expect(log).toEqual([]);
    expect(receiver.counts.refused).toMatchObject({ not_found: 2, wrong_method: 1 });
  });
});

describe('other requests', () => {
  test('/healthz is answered 503 while the inbox takes nothing', async () => {
    const { port } = await openReceiver({ settings: { inboxMiB: 0 } });
    expect(await exchange(port, requestBytes({ method: 'GET', path: '/healthz' }))).toMatch(
      /^HTTP\/1\.1 503 .*"the inbox takes nothing"/s,
    );
  });

  test('GET and HEAD of /healthz are answered 200', async () => {
    const { port } = await openReceiver();
    expect(answersIn(await exchange(port, requestBytes({ method: 'GET', path: '/healthz' })))).toEqual([
      '200 {"status":"ok"}',
    ]);
    expect(answersIn(await exchange(port, requestBytes({ method: 'HEAD', path: '/healthz' })))).toEqual(['200']);
  });

  test('what is allowed on a path is said', async () => {
    const { port } = await openReceiver({ settings: { path: '/' } });
    expect(await exchange(port, requestBytes({ method: 'GET', path: '/' }))).toMatch(/\r\nallow: POST, PUT\r\n/i);
    expect(await exchange(port, requestBytes({ method: 'PUT', path: '/healthz' }))).toMatch(
      /\r\nallow: GET, HEAD\r\n/i,
    );
  });

  test('a connection is kept after an answer, also after a forgery', async () => {
    const { port } = await openReceiver();
    const forged = requestBytes({ headers: ['Signature: x'], body: '{}', isLast: false });
    const three = Buffer.concat([forged, delivery(messageText(), { isLast: false }), delivery()]);
    expect(answersIn(await exchange(port, three))).toEqual(['400 bad_signature', '204', '204']);
  });

  test('a body that breaks off is stored nowhere', async () => {
    const { port, receiver, stored } = await openReceiver();
    const whole = delivery();
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(whole.subarray(0, -5)));
      socket.on('close', () => resolve());
      socket.resume();
    });
    expect(await answerTo(port, delivery())).toBe('204');
    expect(receiver.counts.accepted).toBe(1);
    expect((await stored()).length).toBe(1);
  });
});

describe('closing', () => {
  test('answers what is in hand, refuses what comes then on an open connection, and takes no new one', async () => {
    const inbox = heldInbox();
    const { port, receiver } = await openReceiver({ inbox });
    const parts: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(delivery(messageText(), { isLast: false })));
    socket.on('data', (part) => parts.push(part));
    const over = new Promise((resolve) => socket.on('close', resolve));
    await inbox.holds(1);
    const closed = receiver.close();
    socket.write(delivery(messageText({ resourceId: '2' }), { isLast: false }));
    await new Promise((resolve) => setImmediate(resolve));
    inbox.waiting[0]!.done();
    await closed;
    await over;
    const received = Buffer.concat(parts).toString('latin1');
    expect(answersIn(received)[0]).toBe('204');
    expect(received).toMatch(/^HTTP\/1\.1 204[\s\S]*?connection: close/i);
    expect(receiver.counts.accepted).toBe(1);
    expect(await exchange(port, delivery())).toBe('');
  });

  test('ends when connections are idle, and cuts those that never end their request', async () => {
    const { port, receiver, clock } = await openReceiver();
    const idle = connect(port, '127.0.0.1');
    const stuck = connect(port, '127.0.0.1', () =>
      stuck.write('POST /push HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'),
    );
    const ends = [idle, stuck].map(
      (socket) => new Promise((resolve) => socket.on('error', () => {}).on('close', resolve)),
    );
    await new Promise((resolve) => stuck.on('connect', resolve));
    expect(await answerTo(port, delivery())).toBe('204');
    const closed = receiver.close();
    await clock.asleep((ms) => ms === 5000);
    await clock.advance(5000);
    await closed;
    await Promise.all(ends);
    expect(receiver.counts.accepted).toBe(1);
  });
});

describe('where it listens', () => {
  test('a port that is taken is wrong usage, with the fix', async () => {
    const { port } = await openReceiver();
    const keys = { find: () => undefined, lookFor: async () => 'unknown' as const, doubt: () => {}, fetches: 0 };
    const starting = startReceiver({
      settings: { ...PUSH, port },
      inbox: heldInbox(),
      keys,
      refused: { keep: () => {} },
      clock: new FakeClock(),
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    });
    await expect(starting).rejects.toMatchObject({ kind: 'usage', code: 'port_taken', hint: expect.any(String) });
  });

  test.each(['127.0.0.1', 'localhost'])('on %s the address is one that can be called', async (host) => {
    const { receiver } = await openReceiver({ settings: { host, path: '/hooks/push' } });
    expect(receiver.url).toMatch(/^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d+\/hooks\/push$/);
    const answer = await fetch(receiver.url, {
      method: 'POST',
      headers: { signature: signed(messageText(), KEY) },
      body: messageText(),
    });
    expect(answer.status).toBe(204);
  });
});

describe('TLS', () => {
  /** Who the receiver says it is, on a new connection. */
  const servedName = (port: number, options: object = {}) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const overTls = async (): Promise<Scene & { readonly certFolder: string }> => {
    const certFolder = await temporaryFolder();
    return { ...(await openReceiver({ settings: { tls: await writeCertificate(certFolder) } })), certFolder };
  };

  test('is spoken with the certificate of the settings', async () => {
    const { port, receiver, stored } = await overTls();
    expect(receiver.url).toMatch(/^https:/);
    const headers = { signature: signed(messageText(), KEY) };
    const status = await new Promise((resolve, reject) => {
      const options = { port, host: '127.0.0.1', path: '/push', method: 'POST', headers, rejectUnauthorized: false };
      httpsRequest({ ...options, agent: false }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end(messageText());
    });
    expect(status).toBe(204);
    expect((await stored()).length).toBe(1);
  });

  test('is not spoken in versions before 1.2, and plain HTTP gets no answer', async () => {
    const { port } = await overTls();
    await expect(
      servedName(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' }),
    ).rejects.toThrow();
    expect(await exchange(port, delivery())).toBe('');
    expect(await servedName(port, { maxVersion: 'TLSv1.2' })).toBe('localhost');
  });

  test('takes a renewed certificate without a restart, and keeps the old one until its key fits', async () => {
    const { port, certFolder, clock, log } = await overTls();
    const other = await writeCertificate(await temporaryFolder(), 'other');
    await clock.asleep((ms) => ms === 60_000);
    await copyFile(other.certFile, path.join(certFolder, 'push.crt'));
    await clock.advance(60_000);
    await clock.asleep((ms) => ms === 60_000);
    expect(await servedName(port)).toBe('localhost');
    await copyFile(other.keyFile, path.join(certFolder, 'push.key'));
    await clock.advance(60_000);
    await clock.asleep((ms) => ms === 60_000);
    expect(await servedName(port)).toBe('other');
    expect(log.map(({ level }) => level)).toEqual(['warn', 'info']);
  });
});
