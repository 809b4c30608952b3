import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EtlError } from '../../src/core/errors.ts';
import { asText, endOf, errorOf, Scene, textCall } from './scene.ts';
import {
  answer,
  cutAfter,
  hangUp,
  NO_ITEMS,
  type Script,
  silence,
  stallAfter,
  tokenNamed,
} from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

const garbage: Script = (response) => {
  response.socket?.end('no HTTP at all\r\n\r\n');
};

describe('a call', () => {
  test('sends its token, its headers, its query, and its fetch id as X-Request-Id', async () => {
    const { record } = await scene
      .client()
      .call(textCall({ query: { a: 'x y', b: 'ü&' }, headers: { accept: 'text/x' } }));
    const [seen] = scene.service.calls;
    expect(seen?.url).toBe('/api/things?a=x+y&b=%C3%BC%26');
    expect(seen?.headers).toMatchObject({
      accept: 'text/x',
      'user-agent': 'partner-etl',
      authorization: `Bearer ${tokenNamed(1)}`,
      'x-request-id': record.fetch_id,
    });
  });

  test('hands the answer over as received and leaves a record of it', async () => {
    const body = gzipSync('{"items":[]}');
    scene.service.answers.push(
      answer(200, body, { 'content-encoding': 'gzip', 'content-type': 'application/json; v=2' }),
    );
    const call = textCall({
      consume: async (got) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of got.body) chunks.push(chunk);
        expect(Buffer.concat(chunks)).toEqual(body);
        expect(got).toMatchObject({ status: 200, contentEncoding: 'gzip', contentType: 'application/json; v=2' });
        got.inspect(Buffer.from('{"items":[]}'));
        return { value: 'done', bytesDecoded: 12, sha256: 'ab', rawPath: 'raw/ab', items: 7 };
      },
    });
    const { value, record } = await scene.client().call(call);
    const at = new Date(scene.clock.now()).toISOString();
    expect(value).toBe('done');
    expect(scene.records).toEqual([record]);
    expect(record).toEqual({
      fetch_id: expect.stringMatching(/^f[0-9a-z]{18}$/),
      run_id: 'r0000000000000000',
      pipeline: 'orders',
      endpoint: 'things',
      window_from: '2026-02-01',
      window_to: '2026-02-07',
      method: 'GET',
      url: `${scene.service.origin}/api/things`,
      attempt: 1,
      started_at: at,
      finished_at: at,
      status: 200,
      content_type: 'application/json; v=2',
      bytes_received: body.length,
      bytes_decoded: 12,
      sha256: 'ab',
      raw_path: 'raw/ab',
      items: 7,
      outcome: 'ok',
      error_code: null,
      error_message: null,
    });
  });

  test('keeps its connection for those that follow, and one token serves all', async () => {
    const client = scene.client();
    for (let i = 0; i < 12; i++) await client.call(textCall());
    // undici may open a second one, since the first is free only a moment after its answer has ended.
    expect(new Set(scene.service.calls.map(({ port }) => port)).size).toBeLessThanOrEqual(2);
    expect(scene.service.tokenRequests).toHaveLength(1);
  });

  test('sends its body', async () => {
    const headers = { 'content-type': 'application/vnd.retailer.v4+json' };
    await scene.client().call(textCall({ method: 'POST', body: '{"a":1}', headers }));
    expect(scene.service.calls[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
    expect(scene.service.calls[0]?.headers).toMatchObject(headers);
  });

  test.each(['things', '/a/../b', '/a/%2e%2E/b', '/a?b=c', '/a#b', '/a b', '//../x'])(
    'to %s is refused',
    async (path) => {
      expect(await endOf(scene.client().call(textCall({ path })))).toBe('bug/assertion');
      expect(scene.service.calls).toHaveLength(0);
    },
  );
});

describe('a failure that passes is tried again as a new fetch', () => {
  test.each<[string, Script, string, number | null]>([
    ['429', answer(429), 'http_429', 429],
    ['500', answer(500, 'Internal Server Error', { 'content-type': 'text/html' }), 'http_500', 500],
    ['502', answer(502), 'http_502', 502],
    ['503', answer(503), 'http_503', 503],
    ['504', answer(504), 'http_504', 504],
    ['a lost connection', hangUp, 'connection_lost', null],
    ['an answer that is no HTTP', garbage, 'bad_answer', null],
    ['a cut body of known length', cutAfter('{"items"', { 'content-length': '100' }), 'cut_body', 200],
    ['a cut body in chunks', cutAfter('{"items"'), 'cut_body', 200],
  ])('%s', async (_name, script, code, status) => {
    scene.service.answers.push(script, answer(200, 'good'));
    const { value } = await scene.client().call(textCall());
    expect(value).toBe('good');
    expect(scene.records).toMatchObject([
      { attempt: 1, outcome: 'failed', error_code: code, status, sha256: null, raw_path: null },
      { attempt: 2, outcome: 'ok', error_code: null, status: 200 },
    ]);
    const ids = scene.service.calls.map(({ headers }) => headers['x-request-id']);
    expect(ids).toEqual(scene.records.map(({ fetch_id }) => fetch_id));
    expect(new Set(ids).size).toBe(2);
  });

  test('no answer within headersMs', async () => {
    scene.service.answers.push(silence);
    const work = scene.client({ timeouts: { headersMs: 90_000_000 } }).call(textCall());
    await scene.service.arrived(2);
    await scene.clock.advance(90_000_000);
    await work;
    expect(scene.records.map(({ error_code }) => error_code)).toEqual(['headers_timeout', null]);
  });

  test('a body that falls silent for bodyMs', async () => {
    scene.service.answers.push(stallAfter('{"items":['));
    let read: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      read = resolve;
    });
    const consume: typeof asText = (got) => asText({ ...got, body: told(got.body, read) });
    const work = scene.client({ timeouts: { bodyMs: 80_000_000 } }).call(textCall({ consume }));
    await begun;
    await scene.clock.asleep((ms) => ms === 80_000_000);
    await scene.clock.advance(80_000_000);
    await work;
    expect(scene.records.map(({ error_code, bytes_received }) => [error_code, bytes_received])).toEqual([
      ['stalled_body', 10],
      [null, NO_ITEMS.length],
    ]);
  });

  test.each([
    ['says so', new EtlError('retry', 'wrong_length', 'the answer is too short'), 'wrong_length'],
    [
      'stumbles over damaged gzip',
      Object.assign(new Error('incorrect data check'), { code: 'Z_DATA_ERROR' }),
      'damaged_gzip',
    ],
  ])('a consumer that %s', async (_name, error, code) => {
    let tries = 0;
    const consume: typeof asText = async (got) => {
      const consumed = await asText(got);
      tries += 1;
      if (tries === 1) throw error;
      return consumed;
    };
    await scene.client().call(textCall({ consume }));
    expect(scene.records.map(({ error_code }) => error_code)).toEqual([code, null]);
  });

  test.each([
    ['swallows it', async () => ({ value: 'half', bytesDecoded: 1, sha256: 'x', rawPath: 'x', items: 0 })],
    ['makes another error of it', () => Promise.reject(new EtlError('failed', 'not_json', 'no JSON'))],
  ])('a broken body stays one when the consumer %s', async (_name, then) => {
    scene.service.answers.push(cutAfter('{"items"'));
    let tries = 0;
    const consume: typeof asText = async (got) => {
      tries += 1;
      return tries > 1 ? asText(got) : asText(got).catch(then);
    };
    await scene.client().call(textCall({ consume }));
    expect(scene.records.map(({ error_code }) => error_code)).toEqual(['cut_body', null]);
  });

  test('until the tries are used up: then it is failed, with the last code', async () => {
    scene.service.answers.push(answer(503), answer(503), answer(503), answer(503));
    const error = await errorOf(scene.client().call(textCall()));
    expect([error.kind, error.code]).toEqual(['failed', 'http_503']);
    expect(error.message).toContain('gave up after 4 tries');
    expect(error.concern).toMatchObject({ pipeline: 'orders', window: '2026-02-01..2026-02-07' });
    expect(error.concern.requestId).toBe(scene.records.at(-1)?.fetch_id);
    expect(scene.records.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });

  test('a connection that does not come to stand', async () => {
    const refusing = net.createServer().listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as AddressInfo;
    refusing.close();
    await once(refusing, 'close');
    const client = scene.client({ baseUrl: `http://127.0.0.1:${port}` });
    const error = await errorOf(client.call(textCall({ method: 'POST' })));
    expect([error.kind, error.code]).toEqual(['failed', 'connect_failed']);
    expect(error.message).toContain('ECONNREFUSED');
    expect(scene.records).toHaveLength(4);
  });

  test('a handshake that is never answered', async () => {
    const mute = net.createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const timeouts = { connectMs: 70_000_000 };
    const client = scene.client({ baseUrl: `https://127.0.0.1:${port}`, timeouts, retry: { tries: 1 } });
    const end = endOf(client.call(textCall()));
    // The token's connection sleeps so too, but is there at once.
    await scene.service.arrived(1);
    const [socket] = (await once(mute, 'connection')) as [net.Socket];
    await scene.clock.advance(70_000_000);
    expect(await end).toBe('failed/connect_timeout');
    socket.destroy();
    mute.close();
    await once(mute, 'close');
  });
});

describe('a failure that does not pass ends the call at once', () => {
  test.each<[string, Script, string]>([
    ['400', answer(400), 'failed/http_400'],
    ['404', answer(404), 'failed/http_404'],
    ['406', answer(406), 'failed/http_406'],
    ['410', answer(410), 'failed/http_410'],
    ['501', answer(501), 'failed/http_501'],
    ['403', answer(403), 'refused/forbidden'],
    ['301', answer(301, '', { location: 'https://elsewhere.example/' }), 'failed/redirect'],
    ['307', answer(307, '', { location: '/api/other' }), 'failed/redirect'],
    ['304', answer(304), 'failed/redirect'],
  ])('%s', async (_name, script, end) => {
    scene.service.answers.push(script);
    expect(await endOf(scene.client().call(textCall()))).toBe(end);
    expect(scene.service.calls).toHaveLength(1);
    expect(scene.records).toMatchObject([{ outcome: 'failed', error_code: end.split('/')[1] }]);
  });

  test('an error of the consumer', async () => {
    const consume = () => Promise.reject(new EtlError('failed', 'no_report', 'this is no report'));
    expect(await endOf(scene.client().call(textCall({ consume })))).toBe('failed/no_report');
    expect(scene.service.calls).toHaveLength(1);
  });

  test('a refused token, before any request', async () => {
    scene.service.tokens.push(answer(401));
    expect(await endOf(scene.client().call(textCall()))).toBe('refused/credentials_refused');
    expect([scene.service.calls, scene.records]).toEqual([[], []]);
  });
});

describe('what may have been acted on is not repeated', () => {
  test.each<[string, Script, string]>([
    ['503', answer(503), 'failed/http_503'],
    ['a lost connection', hangUp, 'failed/connection_lost'],
    ['a cut body', cutAfter('{'), 'failed/cut_body'],
  ])('POST after %s', async (_name, script, end) => {
    scene.service.answers.push(script);
    expect(await endOf(scene.client().call(textCall({ method: 'POST', body: '{}' })))).toBe(end);
    expect(scene.service.calls).toHaveLength(1);
  });

  test.each<[string, 'POST' | 'PUT' | 'DELETE', Script, boolean | undefined]>([
    ['POST after 429', 'POST', answer(429), undefined],
    ['PUT after 503', 'PUT', answer(503), undefined],
    ['DELETE after a lost connection', 'DELETE', hangUp, undefined],
    ['POST that only asks, after 503', 'POST', answer(503), true],
  ])('but %s is', async (_name, method, script, isRepeatable) => {
    scene.service.answers.push(script);
    await scene.client().call(textCall({ method, ...(isRepeatable === undefined ? {} : { isRepeatable }) }));
    expect(scene.service.calls).toHaveLength(2);
  });
});

describe('401', () => {
  const expired = answer(401, '{"title":"Expired JWT","status":401,"detail":"JWT expired at 2023-03-16T12:53:03Z."}');

  test('leads to one new token and one more try, also for a POST', async () => {
    scene.service.answers.push(expired);
    await scene.client({ retry: { tries: 1 } }).call(textCall({ method: 'POST' }));
    const tokens = scene.service.calls.map(({ headers }) => headers.authorization);
    expect(tokens).toEqual([`Bearer ${tokenNamed(1)}`, `Bearer ${tokenNamed(2)}`]);
    expect(scene.service.tokenRequests).toHaveLength(2);
  });

  test('a second one ends the call: refused/token_rejected', async () => {
    scene.service.answers.push(expired, answer(401));
    const error = await errorOf(scene.client().call(textCall()));
    expect([error.kind, error.code]).toEqual(['refused', 'token_rejected']);
    expect(error.hint).toContain('PARTNER_AUTH_URL');
    expect(scene.service.tokenRequests).toHaveLength(2);
    expect(scene.records.map(({ error_code }) => error_code)).toEqual(['token_rejected', 'token_rejected']);
    expect(scene.records[0]?.error_message).toContain('Expired JWT; JWT expired at');
  });

  test('for many calls at once there is one new token', async () => {
    const old = await scene.tokens().get();
    const client = scene.client();
    const script: Script = (response, seen) =>
      answer(seen.headers.authorization === `Bearer ${old.value}` ? 401 : 200)(response, seen);
    scene.service.answers.push(...Array.from({ length: 12 }, () => script));
    await Promise.all(Array.from({ length: 6 }, () => client.call(textCall())));
    expect(scene.service.tokenRequests).toHaveLength(2);
    expect(scene.service.calls).toHaveLength(12);
  });

  test('with a token that another process has renewed since costs no request', async () => {
    const [old, other, client] = [await scene.tokens().get(), scene.tokens(), scene.client()];
    await client.call(textCall());
    await other.get();
    await other.renew(old);
    scene.service.answers.push(expired);
    await client.call(textCall());
    expect(scene.service.tokenRequests).toHaveLength(2);
    expect(scene.service.calls.at(-1)?.headers.authorization).toBe(`Bearer ${tokenNamed(2)}`);
  });
});

describe('leaving', () => {
  test.each<[string, Script[]]>([
    ['while the answer is awaited', [silence]],
    ['in the middle of the body', [stallAfter('{')]],
  ])('%s: the call ends with the reason of the signal, and a record', async (_name, scripts) => {
    scene.service.answers.push(...scripts);
    const stop = new AbortController();
    const work = errorOf(scene.client().call(textCall({ signal: stop.signal })));
    await scene.service.arrived(2);
    stop.abort(new EtlError('failed', 'interrupted', 'enough'));
    expect((await work).code).toBe('interrupted');
    expect(scene.records).toMatchObject([{ outcome: 'failed', error_code: 'interrupted' }]);
  });

  test('in a pause', async () => {
    scene.clock.passUpTo(0);
    scene.service.answers.push(answer(503, '', { 'retry-after': '100' }));
    const stop = new AbortController();
    const work = errorOf(scene.client().call(textCall({ signal: stop.signal })));
    await scene.clock.asleep((ms) => ms === 100_000);
    stop.abort(new Error('enough'));
    expect((await work).message).toBe('enough');
  });

  test('before it began', async () => {
    const work = errorOf(scene.client().call(textCall({ signal: AbortSignal.abort(new Error('enough')) })));
    expect((await work).message).toBe('enough');
    expect(scene.service.tokenRequests).toHaveLength(0);
  });
});

/** The body, telling when its first chunk has been handed over. */
async function* told(body: AsyncIterable<Uint8Array>, first: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    first();
    yield chunk;
  }
}
