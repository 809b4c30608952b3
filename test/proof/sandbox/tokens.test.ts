import { describe, expect, test } from 'vitest';
import { ask, NOON, openSandbox, reportPath, requestToken } from './client.ts';

const ORDERS = reportPath('orders', '2026-06-01', '2026-06-01');
const PROCESS = '/shared/process-status/1';
const RETAILER = { accept: 'application/vnd.retailer.v10+json' };

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const decoded = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

describe('a token', () => {
  test('is a JSON Web Token with the times of the sandbox', async () => {
    const { sandbox } = await openSandbox({ tokenTtlSeconds: 299 });
    const reply = await requestToken(sandbox);
    expect(reply.status).toBe(200);
    const token = JSON.parse(reply.text);
    expect(token).toMatchObject({ token_type: 'Bearer', expires_in: 299, scope: expect.any(String) });
    const [header, claims] = token.access_token.split('.').map((part: string, i: number) => i < 2 && decoded(part));
    expect(header).toEqual({ alg: 'RS256', typ: 'JWT' });
    expect(claims).toMatchObject({ sub: sandbox.clientId, iat: NOON / 1000, exp: NOON / 1000 + 299 });
  });

  test('is another one at every request', async () => {
    const { sandbox } = await openSandbox();
    const [a, b] = [await requestToken(sandbox), await requestToken(sandbox)];
    expect(a.text).not.toBe(b.text);
  });

  test('is given for the credentials that were set', async () => {
    const { sandbox } = await openSandbox({ clientId: 'shop:1', clientSecret: 'geheim é' });
    expect(sandbox).toMatchObject({ clientId: 'shop:1', clientSecret: 'geheim é' });
    expect((await requestToken(sandbox)).status).toBe(200);
  });

  test.each([
    ['with a wrong secret', (id: string) => basic(`${id}:wrong`)],
    ['with a wrong client', (_: string, secret: string) => basic(`somebody:${secret}`)],
    ['with a secret that is cut', (id: string, secret: string) => basic(`${id}:${secret.slice(0, -1)}`)],
    ['as a bearer', () => ({ authorization: 'Bearer x' })],
    ['with nothing', () => ({ authorization: '' })],
  ])('is refused %s', async (_, headersOf) => {
    const { sandbox } = await openSandbox();
    const reply = await requestToken(sandbox, headersOf(sandbox.clientId, sandbox.clientSecret));
    expect(reply.status).toBe(401);
    expect(JSON.parse(reply.text)).toMatchObject({ error: 'invalid_client' });
  });

  test('is asked for as application/json, by POST, with its grant type', async () => {
    const { sandbox } = await openSandbox();
    expect((await requestToken(sandbox, { accept: '*/*' })).status).toBe(406);
    const headers = { ...basic(`${sandbox.clientId}:${sandbox.clientSecret}`), accept: 'application/json' };
    const path = `${sandbox.authUrl}/token`;
    expect((await ask(path, { method: 'POST', headers })).status).toBe(400);
    expect((await ask(`${path}?grant_type=client_credentials`, { headers })).status).toBe(405);
  });
});

describe('all tokens are revoked', () => {
  const call = async (baseUrl: string, reply: { readonly text: string }) => {
    const headers = { ...RETAILER, authorization: `Bearer ${JSON.parse(reply.text).access_token}` };
    return ask(`${baseUrl}/retailer/commission/0`, { headers });
  };

  test('by a change, and those that are issued later are accepted', async () => {
    const { sandbox } = await openSandbox();
    const [a, b] = [await requestToken(sandbox), await requestToken(sandbox)];
    expect((await call(sandbox.baseUrl, a)).status).toBe(400);
    sandbox.change({ kind: 'revoke-tokens' });
    for (const token of [a, b, a]) {
      const reply = await call(sandbox.baseUrl, token);
      expect([reply.status, JSON.parse(reply.text).title]).toEqual([401, 'Invalid JWT']);
    }
    expect((await call(sandbox.baseUrl, await requestToken(sandbox))).status).toBe(400);
  });

  test('by a fault in the middle of many calls, of which the one that it strikes is refused', async () => {
    const { sandbox } = await openSandbox();
    const token = await requestToken(sandbox);
    sandbox.addFault({ endpoint: 'commission', kind: 'revoke-tokens', after: 3 });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await call(sandbox.baseUrl, token)).status);
    expect(statuses).toEqual([400, 400, 400, 401, 401, 401]);
    expect((await call(sandbox.baseUrl, await requestToken(sandbox))).status).toBe(400);
  });
});

describe('a protected call', () => {
  test.each([
    ['without a token', () => undefined],
    ['with half a token', (token: string) => token.slice(0, token.lastIndexOf('.'))],
    ['with a token without a signature', (token: string) => token.slice(0, token.lastIndexOf('.') + 1)],
    ['with another letter in the signature', (token: string) => altered(token, token.length - 20)],
    ['with another last letter', (token: string) => altered(token, token.length - 1)],
    ['with another letter in the claims', (token: string) => altered(token, token.indexOf('.') + 10)],
    ['with a later end', (token: string) => withLaterEnd(token)],
  ])('%s is refused: a report without a body, others with a problem', async (_, spoil) => {
    const { sandbox, token } = await openSandbox();
    const spoilt = spoil(await token());
    const headers = { ...RETAILER, ...(spoilt === undefined ? {} : { authorization: `Bearer ${spoilt}` }) };
    const report = await ask(`${sandbox.baseUrl}${ORDERS}`, { headers });
    expect([report.status, report.text]).toEqual([401, '']);
    const other = await ask(`${sandbox.baseUrl}${PROCESS}`, { headers });
    expect(other.status).toBe(401);
    expect(other.headers['content-type']).toBe('application/vnd.retailer.v10+json');
    expect(JSON.parse(other.text)).toMatchObject({ status: 401, title: expect.stringContaining('JWT') });
  });

  test('takes a token until a second after its end, by the clock of the sandbox', async () => {
    const { sandbox, call, token } = await openSandbox({ tokenTtlSeconds: 299 });
    await token();
    sandbox.setNow(NOON + 300_000);
    expect((await call(ORDERS)).status).toBe(200);
    sandbox.setNow(NOON + 300_001);
    expect((await call(ORDERS)).status).toBe(401);
    const reply = await call(PROCESS, { headers: RETAILER });
    expect(JSON.parse(reply.text)).toEqual({
      title: 'Expired JWT',
      status: 401,
      detail:
        'JWT expired at 2026-06-10T10:04:59Z. Current time: 2026-06-10T10:05:00Z, a difference of 1001 milliseconds.  Allowed clock skew: 1000 milliseconds.',
    });
  });
});

describe('an address that asks for too many tokens', () => {
  const limits = { tokens: { requests: 3, seconds: 60, banSeconds: 600 } };

  test('is answered 404 to everything it asks of the token service, until the ban is over', async () => {
    const { sandbox, call } = await openSandbox({ limits });
    await call(ORDERS);
    expect((await requestToken(sandbox)).status).toBe(200);
    expect((await requestToken(sandbox, basic('a:b'))).status).toBe(401);
    expect((await requestToken(sandbox)).status).toBe(404);
    expect((await requestToken(sandbox, basic('a:b'))).status).toBe(404);
    expect((await call(ORDERS)).status).toBe(200);
    sandbox.setNow(NOON + 599_999);
    expect((await requestToken(sandbox)).status).toBe(404);
    sandbox.setNow(NOON + 600_000);
    expect((await requestToken(sandbox)).status).toBe(200);
    expect(sandbox.stats.tokenRequests).toBe(7);
  });

  test('is not banned when its requests are far enough apart', async () => {
    const { sandbox } = await openSandbox({ limits });
    const statuses = [];
    for (let i = 0; i < 8; i++) {
      sandbox.setNow(NOON + i * 20_000);
      statuses.push((await requestToken(sandbox)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

function altered(token: string, at: number): string {
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
}

function withLaterEnd(token: string): string {
  const [header, claims, signature] = token.split('.');
  const later = { ...decoded(claims), exp: 9_999_999_999 };
  return [header, Buffer.from(JSON.stringify(later)).toString('base64url'), signature].join('.');
}
