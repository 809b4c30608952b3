import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { errorOf, Scene, textCall } from './scene.ts';
import { answer, type Script } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

describe('what the service says of an error stands in the message', () => {
  const problem = { title: 'Error validating request body.', status: 400, detail: 'Bad request', host: 'Instance-101' };
  const violations = [{ name: 'ean', reason: "Request contains invalid value(s): '0'." }];
  test.each<[string, Script, string]>([
    [
      'title, detail and violations',
      answer(400, JSON.stringify({ ...problem, violations })),
      "the service answered 400: Error validating request body.; Bad request; ean: Request contains invalid value(s): '0'.",
    ],
    ['a detail that repeats the title', answer(404, '{"title":"Not Found","detail":"Not Found"}'), '404: Not Found'],
    ['a text', answer(400, 'No such\r\nthing', { 'content-type': 'text/plain' }), '400: No such thing'],
    ['a page', answer(400, '<html><h1>Oh</h1><p>dear</p></html>', { 'content-type': 'text/html' }), '400: Oh dear'],
    ['nothing', answer(400), 'GET /api/things: the service answered 400'],
    ['control characters', answer(400, 'a\u0000b\u001b[31mc\u202ed'), '400: ab[31mcd'],
    ['bytes that are no text', answer(400, Buffer.from([0xff, 0xfe, 0x41])), '400: \ufffd\ufffdA'],
    ['a wrong shape', answer(400, '{"title":7,"violations":"none","detail":"so"}'), '400: so'],
    ['gzip', answer(400, gzipSync('{"title":"Packed"}'), { 'content-encoding': 'gzip' }), '400: Packed'],
    [
      'damaged gzip',
      answer(400, 'no gzip', { 'content-encoding': 'gzip' }),
      'GET /api/things: the service answered 400',
    ],
    [
      'a bomb',
      answer(400, gzipSync(' '.repeat(9_000_000)), { 'content-encoding': 'gzip' }),
      'the service answered 400',
    ],
    [
      'a redirect',
      answer(302, '', { location: 'https://elsewhere.example/x' }),
      '302 and points to https://elsewhere.example/x',
    ],
  ])('%s', async (_name, script, message) => {
    scene.service.answers.push(script);
    const error = await errorOf(scene.client().call(textCall()));
    expect(error.message.endsWith(message), error.message).toBe(true);
  });

  test('at most a few hundred characters, of however long a body', async () => {
    scene.service.answers.push(answer(400, 'x'.repeat(5_000_000)));
    const error = await errorOf(scene.client().call(textCall()));
    expect(error.message.length).toBeLessThan(400);
    expect(scene.records[0]?.bytes_received).toBeLessThan(500_000);
  });

  test('a body that breaks off is no obstacle', async () => {
    scene.service.answers.push((response) => {
      response.writeHead(404, { 'content-length': '100' });
      response.write('not he', () => response.destroy());
    });
    const error = await errorOf(scene.client().call(textCall()));
    expect([error.code, error.message]).toEqual(['http_404', 'GET /api/things: the service answered 404: not he']);
  });
});
