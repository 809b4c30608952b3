/** Who may see the page and who may act on it, on an installation in which nothing has run yet. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StartProgram } from '../../../src/serve/program-process.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { type Asking, openPageScene, TOKEN } from './scene.ts';

const DAY = '2026-03-17';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe('on loopback', () => {
  it('everybody on this machine reads, without a session and without a token that is set', async () => {
    const { ask } = await openPageScene(world, { token: null });
    const page = await ask('/');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('orders');
    expect((await ask('/?year=2024')).status).toBe(200);
    expect((await ask(`/cell/orders/${DAY}`)).text).toContain(DAY);
    expect(JSON.parse((await ask(`/api/cell/orders/${DAY}`)).text)).toMatchObject({ pipeline: 'orders', day: DAY });
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('what is answered is kept nowhere, loads nothing from elsewhere, and is framed by nobody', async () => {
    const { ask } = await openPageScene(world);
    for (const path of ['/', '/api/page', '/login', '/cell/no/where']) {
      const { headers } = await ask(path);
      const policy = String(headers['content-security-policy']).split('; ');
      expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'"]));
      expect(policy).toEqual(
        expect.arrayContaining(["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]),
      );
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      expect(headers['referrer-policy']).toBe('same-origin');
    }
  });

  it('every asset that the page names is there for ever, under a name that changes with its content', async () => {
    const { ask } = await openPageScene(world);
    const named = [...(await ask('/')).text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(1);
    for (const path of named) {
      const { status, headers } = await ask(path);
      expect([path, status, headers['cache-control']]).toEqual([path, 200, 'public, max-age=31536000, immutable']);
      expect(path).toMatch(/\.[0-9a-f]{8,}\.(?:css|js|svg)$/);
    }
  });

  it('an unchanged model is not sent again', async () => {
    const { ask } = await openPageScene(world);
    const first = await ask('/api/page');
    const again = await ask('/api/page', { headers: { 'if-none-match': String(first.headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('a foreign name that was made to lead here reads nothing: only names of this machine are answered', async () => {
    const { ask } = await openPageScene(world);
    const names = {
      ours: ['localhost:8420', '127.0.0.1', '127.8.8.8:1', '[::1]:8420'],
      foreign: [
        'evil.example',
        'localhost.evil.example',
        '127.0.0.1.evil.example:8420',
        '192.168.1.7',
        '0.0.0.0',
        'a@localhost',
      ],
    };
    for (const host of names.ours) expect([host, (await ask('/', { headers: { host } })).status]).toEqual([host, 200]);
    for (const host of names.foreign)
      for (const path of ['/', '/api/page', `/cell/orders/${DAY}`, '/login'])
        expect([host, path, (await ask(path, { headers: { host } })).status]).toEqual([host, path, 403]);
  });
});

describe('elsewhere', () => {
  const host = '192.0.2.1';
  const reads = ['/', `/cell/orders/${DAY}`, '/api/page', `/api/cell/orders/${DAY}`];

  it('without a token that is set nobody sees anything, and is shown how to set one; health goes on', async () => {
    const { ask, post } = await openPageScene(world, { host, token: null });
    for (const path of [...reads, '/login']) {
      const { status, text } = await ask(path);
      expect([path, status]).toEqual([path, 403]);
      expect(text).toMatch(path.startsWith('/api') ? /"no_token_set"/ : /PARTNER_ETL_PAGE_TOKEN/);
    }
    expect((await post('/login', { token: '' })).status).toBe(403);
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('with one, people are led to sign in, and programs are refused', async () => {
    const { ask } = await openPageScene(world, { host });
    expect((await ask('/')).headers.location).toBe('/login');
    expect(await ask('/api/page')).toMatchObject({ status: 401, text: '{"error":"signed_out"}' });
    expect((await ask('/login')).status).toBe(200);
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('who is signed in reads everything; a program does so with the token under /api, and only there', async () => {
    const { ask, signIn } = await openPageScene(world, { host });
    const { cookie } = await signIn();
    for (const path of reads) expect([path, (await ask(path, { headers: { cookie } })).status]).toEqual([path, 200]);
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'etl.intern.example' };
    expect((await ask('/api/page', { headers })).status).toBe(200);
    expect((await ask('/', { headers })).status).toBe(303);
    expect((await ask('/api/page', { headers: { authorization: 'Bearer nothing-of-the-kind' } })).status).toBe(401);
  });
});

describe('signing in', () => {
  it('brings a cookie that scripts cannot read and other sites do not send, for twelve hours', async () => {
    const { ask, post, signIn } = await openPageScene(world);
    const { status, headers } = await post('/login', { token: TOKEN });
    expect([status, headers.location]).toEqual([303, '/']);
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^partner_etl_session=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/),
    ]);
    const { cookie } = await signIn();
    expect((await ask('/login', { headers: { cookie } })).headers.location).toBe('/');
    await world.clock.advance(12 * 3_600_000);
    expect((await ask('/login', { headers: { cookie } })).status).toBe(200);
  });

  it('ten wrong tokens close the page to the address that they came from, and to no other one', async () => {
    const { post } = await openPageScene(world, { host: '192.0.2.1', trustedProxies: ['127.0.0.1'] });
    const from = (address: string, token: string) => post('/login', { token }, { 'x-forwarded-for': address });
    for (let i = 0; i < 10; i++) expect((await from('198.51.100.7', 'wr0ng-w0rd')).status).toBe(403);
    expect((await from('198.51.100.7', TOKEN)).status).toBe(429);
    expect((await from('198.51.100.8', TOKEN)).status).toBe(303);
    // A customer has 2^64 addresses of IPv6.
    for (let i = 0; i < 10; i++) expect((await from(`2001:db8:0:1::${i}`, 'wr0ng-w0rd')).status).toBe(403);
    expect((await from('2001:db8:0:1:ffff::1', TOKEN)).status).toBe(429);
    expect((await from('2001:db8:0:2::1', TOKEN)).status).toBe(303);
  });

  it('an address is not taken from a header that no trusted proxy wrote', async () => {
    const { post } = await openPageScene(world, { host: '192.0.2.1' });
    for (let i = 0; i < 10; i++)
      await post('/login', { token: 'wr0ng-w0rd' }, { 'x-forwarded-for': `198.51.100.${i}` });
    expect((await post('/login', { token: TOKEN }, { 'x-forwarded-for': '203.0.113.1' })).status).toBe(429);
  });

  it('a wrong token is refused without repeating it, and after ten of them no token is looked at for a minute', async () => {
    const { ask, post } = await openPageScene(world, { host: '192.0.2.1' });
    const wrong = await post('/login', { token: 'wr0ng-w0rd' });
    expect(wrong.status).toBe(403);
    expect(wrong.text).not.toContain('wr0ng-w0rd');
    for (let i = 0; i < 4; i++) await post('/login', { token: '' });
    const headers = { authorization: 'Bearer wr0ng-w0rd' };
    for (let i = 0; i < 5; i++) expect((await ask('/api/page', { headers })).status).toBe(401);
    const late = await post('/login', { token: TOKEN });
    expect([late.status, late.headers['retry-after'], late.headers['set-cookie']]).toEqual([429, '60', undefined]);
    expect((await ask('/api/page', { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(429);
    await world.clock.advance(60_000);
    expect((await post('/login', { token: TOKEN })).status).toBe(303);
  });

  it('signing out ends the session where it is kept', async () => {
    const { ask, post, signIn } = await openPageScene(world, { host: '192.0.2.1' });
    const { cookie, csrf } = await signIn();
    expect((await post('/logout', { csrf }, { cookie })).headers['set-cookie']).toEqual([
      expect.stringMatching(/^partner_etl_session=; .*Max-Age=0$/),
    ]);
    expect((await ask('/', { headers: { cookie } })).status).toBe(303);
  });
});

describe('a form is only heard', () => {
  const fields = { pipeline: 'orders', day: DAY };
  const never: StartProgram = () => {
    throw new Error('nothing may be begun here');
  };

  it('from who is signed in, also on loopback', async () => {
    const { post } = await openPageScene(world, { start: never });
    expect((await post('/release', { ...fields, csrf: '' })).status).toBe(401);
    expect((await post('/retry', { csrf: '' })).status).toBe(401);
    expect((await post('/logout', { csrf: '' })).status).toBe(401);
  });

  it('with the csrf value of that session', async () => {
    const { post, signIn } = await openPageScene(world, { start: never });
    const [mine, other] = [await signIn(), await signIn()];
    for (const csrf of [{}, { csrf: '' }, { csrf: 'x' }, { csrf: other.csrf }])
      expect((await post('/release', { ...fields, ...csrf } as never, { cookie: mine.cookie })).status).toBe(403);
    expect((await post('/logout', { csrf: other.csrf }, { cookie: mine.cookie })).status).toBe(403);
  });

  it.each<[string, Asking['headers']]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of this machine', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'http://evil.example' }],
    ['another port as origin', { origin: 'http://localhost:1', host: 'localhost:2' }],
    ['a page without an origin', { origin: 'null' }],
  ])('when no browser says that it comes from %s', async (_, headers) => {
    const { post, signIn } = await openPageScene(world, { start: never });
    const { cookie, csrf } = await signIn();
    expect((await post('/release', { ...fields, csrf }, { cookie, ...headers })).status).toBe(403);
    expect((await post('/login', { token: TOKEN }, headers)).status).toBe(403);
  });

  it('from the page itself, by whatever name of this machine it was opened', async () => {
    const { post } = await openPageScene(world);
    const headers = { origin: 'http://localhost:8420', host: 'localhost:8420', 'sec-fetch-site': 'same-origin' };
    expect((await post('/login', { token: TOKEN }, headers)).status).toBe(303);
  });

  it.each<[string, Asking, number]>([
    ['as JSON', { headers: { 'content-type': 'application/json' }, body: `{"token":"${TOKEN}"}` }, 415],
    ['as plain text', { headers: { 'content-type': 'text/plain' }, body: `token=${TOKEN}` }, 415],
    ['larger than 4 KiB', { headers: FORM, body: `token=${'x'.repeat(4096)}` }, 413],
  ])('not %s', async (_, asking, status) => {
    const { ask } = await openPageScene(world);
    expect((await ask('/login', { method: 'POST', ...asking })).status).toBe(status);
  });

  it('for a pipeline and a day that can be', async () => {
    const { post, signIn } = await openPageScene(world, { start: never });
    const { cookie, csrf } = await signIn();
    for (const slice of [
      { pipeline: 'orders', day: '2026-02-30' },
      { pipeline: 'orders', day: '--json' },
      { pipeline: '--verbose', day: DAY },
      { pipeline: 'push-deliveries', day: DAY },
      { pipeline: 'orders' },
    ])
      expect((await post('/release', { csrf, ...slice } as never, { cookie })).status).toBe(404);
    expect((await post('/retry', { csrf, pipeline: '--limit' }, { cookie })).status).toBe(404);
  });
});
