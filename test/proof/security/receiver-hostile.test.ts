/** Whatever may come in from anybody, and the answer that each must get. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  answersIn,
  answerTo,
  delivery,
  exchange,
  KEY,
  openReceiver,
  requestBytes,
} from '../../serve/receiver/scene.ts';
import { messageText, signatureLine, signatureOf, signed, signingKey } from '../../support/push.ts';

const STRANGER = signingKey('0');
const GOOD = messageText();
const RIGHT = signatureOf(GOOD, KEY);

/** A message with this Signature header, or these. */
const withHeader = (...values: string[]) =>
  requestBytes({ headers: values.map((value) => `Signature: ${value}`), body: GOOD });
const withKeyId = (keyId: string) => withHeader(signatureLine(keyId, RIGHT));
const withSignature = (signature: string) => withHeader(signatureLine('0', signature));
const withAlgorithm = (algorithm: string) => withHeader(signatureLine('0', RIGHT, algorithm));
const changed = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
const chunked = (body: string, headers: readonly string[] = []) =>
  Buffer.concat([
    requestBytes({ headers: ['Transfer-Encoding: chunked', `Signature: ${signed(body, KEY)}`, ...headers] }),
    Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`),
  ]);

const SIGNATURES: [string, Buffer, string][] = [
  ['signed with another key', delivery(GOOD, { key: STRANGER }), '401 wrong_signature'],
  [
    'an altered body',
    requestBytes({ headers: [`Signature: ${signed(GOOD, KEY)}`], body: `${GOOD} ` }),
    '401 wrong_signature',
  ],
  ['an altered signature', withSignature(changed(RIGHT)), '401 wrong_signature'],
  ['signed over SHA-1', withSignature(signatureOf(GOOD, KEY, { digest: 'sha1' })), '401 wrong_signature'],
  ['signed over SHA-512', withSignature(signatureOf(GOOD, KEY, { digest: 'sha512' })), '401 wrong_signature'],
  ['signed by PSS', withSignature(signatureOf(GOOD, KEY, { isPss: true })), '401 wrong_signature'],
  ['a signature of zeros', withSignature(Buffer.alloc(256).toString('base64')), '401 wrong_signature'],
  ['algorithm rsa-sha512', withAlgorithm('rsa-sha512'), '400 other_algorithm'],
  ['algorithm hs256', withAlgorithm('"hs256"'), '400 other_algorithm'],
  ['algorithm none', withAlgorithm('none'), '400 other_algorithm'],
  ['algorithm RSA-SHA256', withAlgorithm('RSA-SHA256'), '400 other_algorithm'],
  ['no signature', requestBytes({ body: GOOD }), '400 no_signature'],
  ['an empty signature', withHeader(''), '400 no_signature'],
  ['two signatures, both right', withHeader(signed(GOOD, KEY), signed(GOOD, KEY)), '400 bad_signature'],
  ['a wrong signature before the right one', withHeader('keyId=0', signed(GOOD, KEY)), '400 bad_signature'],
  ['a header split in two', withHeader('keyId=0, algorithm="rsa-sha256"', `signature=${RIGHT}`), '400 bad_signature'],
  ['a parameter twice', withHeader(`${signed(GOOD, KEY)}, keyId=0`), '400 bad_signature'],
  ['an algorithm twice', withHeader(`${signed(GOOD, KEY)}, algorithm=none`), '400 bad_signature'],
  ['no key id', withHeader(`algorithm=rsa-sha256, signature=${RIGHT}`), '400 bad_signature'],
  ['no algorithm', withHeader(`keyId=0, signature=${RIGHT}`), '400 bad_signature'],
  ['no signature in the header', withHeader('keyId=0, algorithm=rsa-sha256'), '400 bad_signature'],
  ['garbage in the header', withHeader('\u00ff\u00fe=;;"",,=,='), '400 bad_signature'],
  ['an open quote', withHeader(`keyId="0, algorithm="rsa-sha256", signature=${RIGHT}`), '400 bad_signature'],
  ['commas alone', withHeader(','.repeat(2000)), '400 bad_signature'],
  ['a header of 10 KB', withHeader(`keyId=${'0'.repeat(10_240)}`), '400 bad_signature'],
  ['a header of 20 KB', withHeader(`keyId=${'0'.repeat(20_480)}`), '431 long_header'],
  ['a signature that is no Base64', withSignature('*'.repeat(344)), '400 bad_signature'],
  ['a signature in the Base64 of addresses', withSignature(`-_${RIGHT.slice(2)}`), '400 bad_signature'],
  ['a signature without its padding', withSignature(RIGHT.replace(/=+$/, '')), '400 bad_signature'],
  ['a signature with its last bits set', withSignature(RIGHT.replace(/.==$/, 'B==')), '400 bad_signature'],
  ['a signature that is too short', withSignature(Buffer.alloc(255, 1).toString('base64')), '400 bad_signature'],
  ['a signature that is too long', withSignature(Buffer.alloc(257, 1).toString('base64')), '400 bad_signature'],
  ['an unknown key', withKeyId('1'), '401 unknown_key'],
  ['a key called __proto__', withKeyId('__proto__'), '401 unknown_key'],
  ['a key called constructor', withKeyId('constructor'), '401 unknown_key'],
  ['a key id of 200 characters', withKeyId('0'.repeat(200)), '400 bad_signature'],
  ['a key id with a line break', withKeyId('"0\r\nX-Forged: 1"'), '400 bad_signature'],
  ['a key id with a bare line feed', withKeyId('"0\nX-Forged: 1"'), '400 bad_http'],
  ['a header that goes on in the next line', withKeyId('0,\r\n x=1'), '400 bad_http'],
  ['a key id that clears the screen', withKeyId('"0\u001b[2J"'), '400 bad_http'],
  ['a key id with an escape of one byte', withKeyId('"0\u009b2J"'), '400 bad_signature'],
  ['a key id with a NUL', withKeyId('"0\u0000"'), '400 bad_http'],
];

const BODIES: [string, Buffer, string][] = [
  ['an empty body that is signed', delivery(''), '400 empty_body'],
  ['a body that is not there', requestBytes({ headers: [`Signature: ${signed('', KEY)}`] }), '400 empty_body'],
  ['a body of 2 MB', requestBytes({ headers: ['Content-Length: 2000000'] }), '413 too_large'],
  ['a body of 2 MB in chunks', chunked(`"${'x'.repeat(2_000_000)}"`), '413 too_large'],
  ['a length beyond every number', requestBytes({ headers: [`Content-Length: ${'9'.repeat(30)}`] }), '400 bad_http'],
  ['a negative length', requestBytes({ headers: ['Content-Length: -1'] }), '400 bad_http'],
  ['two lengths', requestBytes({ headers: ['Content-Length: 2'], body: '{}{}' }), '400 bad_http'],
  ['a length and chunks', chunked(GOOD, ['Content-Length: 5']), '400 bad_http'],
  ['100,000 brackets', delivery('['.repeat(100_000)), '422 not_json'],
  ['100,000 objects in objects', delivery('{"a":'.repeat(100_000)), '422 not_json'],
  ['no JSON', delivery('hello'), '422 not_json'],
  ['JSON with something behind it', delivery(`${GOOD}{}`), '422 not_json'],
  ['nothing but spaces', delivery(' \r\n '), '422 not_json'],
  ['random bytes', delivery(createHash('sha512').update('x').digest()), '422 not_json'],
  ['an array', delivery(`[${GOOD}]`), '422 bad_message'],
  ['null', delivery('null'), '422 bad_message'],
  ['no event', delivery('{"retailerId":1,"timestamp":"2026-03-14T03:59:00+01:00"}'), '422 bad_message'],
  ['no retailer', delivery(messageText({ retailerId: undefined })), '422 bad_message'],
  ['no resource', delivery(messageText({ resource: undefined })), '422 bad_message'],
  ['no type', delivery(messageText({ type: undefined })), '422 bad_message'],
  ['no resource id', delivery(messageText({ resourceId: undefined })), '422 bad_message'],
  ['a resource id that is nothing but NUL', delivery(messageText({ resourceId: '\u0000' })), '422 bad_message'],
  ['a type of 1,000 characters', delivery(messageText({ type: 'x'.repeat(1000) })), '422 bad_message'],
  ['links that are no array', delivery(messageText({ event: { links: 'http://x' } })), '422 bad_message'],
  ['no timestamp', delivery(messageText({ timestamp: undefined })), '422 bad_message'],
  ['a time without an offset', delivery(messageText({ timestamp: '2026-03-14T03:59:00' })), '422 bad_message'],
  ['30 February', delivery(messageText({ timestamp: '2026-02-30T03:59:00Z' })), '422 bad_message'],
  ['a message of years ago', delivery(messageText({ timestamp: '2020-02-02T23:23:23+01:00' })), '422 too_old'],
  [
    'gzip',
    requestBytes({ headers: ['Content-Encoding: gzip', `Signature: ${signed(GOOD, KEY)}`], body: gzipSync(GOOD) }),
    '415 encoded',
  ],
];

const REQUESTS: [string, string | Buffer, string][] = [
  ['GET', requestBytes({ method: 'GET' }), '405 wrong_method'],
  ['DELETE with a message', delivery(GOOD, { method: 'DELETE' }), '405 wrong_method'],
  ['PATCH with a message', delivery(GOOD, { method: 'PATCH' }), '405 wrong_method'],
  ['OPTIONS', requestBytes({ method: 'OPTIONS' }), '405 wrong_method'],
  ['another path', delivery(GOOD, { path: '/' }), '404 not_found'],
  ['a path below', delivery(GOOD, { path: '/push/x' }), '404 not_found'],
  ['a path above', delivery(GOOD, { path: '/push/../../etc/passwd' }), '404 not_found'],
  ['a path that cannot be decoded', delivery(GOOD, { path: '/push%zz' }), '404 not_found'],
  ['a path with terminal escapes', delivery(GOOD, { path: '/%1b%5b2J' }), '404 not_found'],
  ['POST to the health check', delivery(GOOD, { path: '/healthz' }), '405 wrong_method'],
  ['a method that there is not', 'PUSH /push HTTP/1.1\r\n\r\n', '400 bad_http'],
  ['a request of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n', '400 bad_http'],
  ['an expectation that nobody meets', requestBytes({ headers: ['Expect: tea'] }), '400 no_signature'],
];

/** Odd, and yet the service's own: each of these is stored. */
const ACCEPTED: [string, Buffer][] = [
  ['the documented message', delivery()],
  ['PUT', delivery(messageText({ resourceId: 'put' }), { method: 'PUT' })],
  ['in chunks', chunked(messageText({ resourceId: 'chunked' }))],
  ['with a query', delivery(messageText({ resourceId: 'query' }), { path: '/push?x=1' })],
  [
    'with a content type that is none',
    delivery(messageText({ resourceId: 'type' }), { headers: ['Content-Type: ;;='] }),
  ],
  [
    'with the encoding identity',
    delivery(messageText({ resourceId: 'plain' }), { headers: ['Content-Encoding: identity'] }),
  ],
  [
    'with a forged X-Forwarded-For',
    delivery(messageText({ resourceId: 'xff' }), { headers: ['X-Forwarded-For: \u009b,,'] }),
  ],
  ['bytes that are no UTF-8', delivery(Buffer.from(messageText({ resourceId: '\u00ff' }), 'latin1'))],
  ['a NUL in a text', delivery(messageText({ resourceId: 'a\u0000b' }))],
  ['a lone surrogate', delivery(messageText({ resourceId: 'c\ud800d' }))],
  ['a member twice', delivery(GOOD.replace('{', '{"retailerId":7,'))],
  ['a member called __proto__', delivery(GOOD.replace('{', '{"__proto__":{"a":1},'))],
  ['an id beyond 2^53', delivery(GOOD.replace('1234567', '90071992547409931'))],
  ['a time in the future', delivery(messageText({ timestamp: '2030-01-01T00:00:00Z' }))],
];

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

test('every hostile message gets its answer; what is the service’s own is stored, all of it and nothing else', async () => {
  const { receiver, port, log, folder, refused, stored } = await openReceiver({ settings: { bodyKiB: 1024 } });
  const refusals = [...SIGNATURES, ...BODIES, ...REQUESTS];
  const answers: string[] = [];
  for (const [what, bytes] of refusals) answers.push(`${what}: ${await answerTo(port, bytes)}`);
  expect(answers).toEqual(refusals.map(([what, , answer]) => `${what}: ${answer}`));
  expect(receiver.counts.accepted).toBe(0);

  const accepted: string[] = [];
  for (const [what, bytes] of ACCEPTED) accepted.push(`${what}: ${await answerTo(port, bytes)}`);
  expect(accepted).toEqual(ACCEPTED.map(([what]) => `${what}: 204`));

  await refused.settled();
  const kept = await readdir(path.join(folder, 'refused'));
  expect(kept.length).toBeGreaterThan(10);
  for (const name of kept)
    expect(await readFile(path.join(folder, 'refused', name), 'latin1')).toMatch(/^[\n\u0020-\u007e]+$/);
  expect((await stored()).length).toBe(ACCEPTED.length);
  const texts = log.flatMap(({ message, fields }) => [message, ...Object.values(fields).map(String)]);
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((text) => CONTROL.test(text))).toEqual([]);
});

test('answers tell one word and repeat nothing of what was sent', async () => {
  const { port } = await openReceiver();
  const marked = delivery(messageText({ resource: undefined, resourceId: 'MARK' }), {
    headers: ['X-Mark: MARK', 'Origin: MARK', 'Accept: MARK'],
    path: '/push?MARK',
  });
  const received = await exchange(port, marked);
  expect(answersIn(received)).toEqual(['422 bad_message']);
  expect(received).not.toContain('MARK');
  for (const at of ['/MARK', '/%zzMARK'])
    expect(await exchange(port, requestBytes({ method: 'GET', path: at }))).not.toContain('MARK');
  expect(await exchange(port, 'MARK MARK MARK\r\n\r\n')).not.toContain('MARK');
});

test('two messages in one piece are two messages, answered in their order', async () => {
  const { port, stored } = await openReceiver();
  const forged = withSignature(changed(RIGHT)).toString('latin1').replace('Connection: close\r\n', '');
  const both = [
    delivery(messageText({ resourceId: '1' }), { isLast: false }),
    Buffer.from(forged, 'latin1'),
    delivery(messageText({ resourceId: '2' })),
  ];
  expect(answersIn(await exchange(port, Buffer.concat(both)))).toEqual(['204', '401 wrong_signature', '204']);
  expect((await stored()).map(({ body }) => JSON.parse(Buffer.from(body).toString()).event.resourceId)).toEqual([
    '1',
    '2',
  ]);
});

test('from a stranger nothing is taken, whatever he writes into X-Forwarded-For', async () => {
  const { port, receiver, stored } = await openReceiver({ settings: { checkSource: 'always' } });
  const headers = ['X-Forwarded-For: 35.204.195.116', 'Forwarded: for=35.204.195.116', 'X-Real-IP: 35.204.195.116'];
  expect(await answerTo(port, delivery(GOOD, { headers }))).toBe('403 wrong_source');
  // Before the body is read: none was sent.
  expect(await answerTo(port, requestBytes({ headers: ['Content-Length: 5'] }))).toBe('403 wrong_source');
  expect(receiver.counts.refused.wrong_source).toBe(2);
  expect(await stored()).toEqual([]);
});

test.each([
  ['the sender is in the list', '35.204.195.116', '204'],
  ['the sender claims to be behind another', '1.2.3.4, 35.204.195.116', '204'],
  ['a stranger claims to be in the list', '35.204.195.116, 1.2.3.4', '403 wrong_source'],
  ['garbage', '35.204.195.116, x', '403 wrong_source'],
  ['nothing', '', '403 wrong_source'],
])('behind a trusted proxy: %s', async (_, forwarded, answer) => {
  const { port, stored } = await openReceiver({ settings: { trustedProxies: ['127.0.0.0/8'] } });
  expect(await answerTo(port, delivery(GOOD, { headers: [`X-Forwarded-For: ${forwarded}`] }))).toBe(answer);
  const froms = (await stored()).map(({ sourceAddress }) => sourceAddress);
  expect(froms).toEqual(answer === '204' ? ['35.204.195.116'] : []);
});

test('a message that is sent again years later is refused', async () => {
  const { port, clock, stored } = await openReceiver();
  const overheard = delivery();
  expect(await answerTo(port, overheard)).toBe('204');
  clock.set(clock.now() + 5 * 365 * 86_400_000);
  expect(await answerTo(port, overheard)).toBe('422 too_old');
  expect((await stored()).length).toBe(1);
});
