/** The status page under attack: what was tried, and what came of it. The installation has loaded what a hostile service would send. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays, type Day } from '../../../src/core/days.ts';
import { openPageScene, TOKEN } from '../../serve/page/scene.ts';
import { exchange } from '../../serve/receiver/scene.ts';
import { openWorld, type World } from '../../support/nights.ts';

const SCRIPT = '<script>alert(1)</script>';
const IMAGE = '<img src=x onerror=alert(2)>';
const FIELD = '<svg onload=alert(3)>';
const TAGS = ['<script>alert', '<img src=x', '<svg onload'];

let world: World;
let attacked: Day;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 20, lookbackDays: 3 });
  attacked = addDays(world.today(), -1);
  const item = { endpoint: 'orders', kind: 'raw-value' } as const;
  world.sandbox.addFault({ ...item, field: 'commission', json: JSON.stringify(SCRIPT), item: 2 });
  world.sandbox.change({ kind: 'add-field', report: 'commissions', field: FIELD, value: IMAGE });
  world.sandbox.change({ kind: 'add-field', report: 'orders', field: 'echo', value: world.sandbox.clientSecret });
  world.sandbox.addFault({ endpoint: 'promotions', kind: 'status', status: 400 });
  await world.night();
});
afterAll(() => world.close());

describe('what the service sent', () => {
  it('is shown as text: no tag of it is in the page, nor in what scripts are given', async () => {
    const { ask } = await openPageScene(world);
    const entries = await world.within(async (context) => [...(await context.lake.slices('orders')).values()]);
    const rejected = entries.find(({ content }) => content.rejects > 0)!.content.day;
    const paths = ['/', '/api/page'];
    for (const day of [rejected, attacked])
      for (const pipeline of ['orders', 'commissions', 'promotions'])
        paths.push(`/cell/${pipeline}/${day}`, `/api/cell/${pipeline}/${day}`);
    const texts = new Map<string, string>();
    for (const path of paths) texts.set(path, (await ask(path)).text);
    for (const [path, text] of texts)
      for (const tag of TAGS) expect([path, tag, text.includes(tag)]).toEqual([path, tag, false]);
    expect(texts.get(`/cell/orders/${rejected}`)).toContain('&lt;script&gt;alert(1)');
    expect(texts.get('/')).toContain('&lt;img src=x');
    expect([...texts.values()].filter((text) => text.includes(world.sandbox.clientSecret))).toEqual([]);
  });
});

describe('paths', () => {
  const tried = [
    '/assets/../../../package.json',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/..\\..\\package.json',
    '/assets/__proto__',
    '/assets/constructor',
    '/assets/',
    '/assets/page.css%00.js',
    '/cell/..%2f..%2f..%2fetc/passwd',
    '/cell/orders/..%2f..%2fstate',
    '/cell/orders/2026-03-17%00',
    '/cell/orders/2026-03-17%0d%0aset-cookie:m4rk=1',
    '/cell/m4rk/2026-03-17',
    '/cell/__proto__/2026-03-17',
    '/cell/orders/9999-12-31',
    '/cell/orders/0000-00-00',
    '/cell/%ff/m4rk',
    '/api/cell/m4rk%3Cscript%3E/2026-03-17',
    '/m4rk',
    '//m4rk.example/',
    '/%',
  ];

  it('that lead nowhere are answered 400 or 404, and what was asked is never repeated', async () => {
    const { ask } = await openPageScene(world);
    for (const path of tried) {
      const { status, text, headers } = await ask(path);
      expect([path, [400, 404].includes(status)]).toEqual([path, true]);
      expect([path, `${text}${JSON.stringify(headers)}`.includes('m4rk')]).toEqual([path, false]);
      expect([path, text.includes('"private"')]).toEqual([path, false]);
    }
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])('are not there for %s', async (method) => {
    const { ask } = await openPageScene(world);
    for (const path of ['/', '/release', '/api/page', '/login'])
      expect([400, 404]).toContain((await ask(path, { method })).status);
  });

  it('that act do not do so for who only looks: an image or a link of another page does nothing', async () => {
    const { ask, signIn, begun } = await openPageScene(world);
    const { cookie, csrf } = await signIn();
    for (const path of ['/release', '/retry', '/logout'])
      expect((await ask(`${path}?csrf=${csrf}&pipeline=orders&day=${attacked}`, { headers: { cookie } })).status).toBe(
        404,
      );
    const query = `/release?csrf=${csrf}&pipeline=orders&day=${attacked}`;
    const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await ask(query, { method: 'POST', headers, body: '' })).status).toBe(403);
    expect(begun).toEqual([]);
  });
});

describe('requests as bytes', () => {
  const head = (lines: readonly string[]) => `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`;
  const FORM = 'Content-Type: application/x-www-form-urlencoded';

  it.each<[string, string, RegExp]>([
    ['a header of 100 KiB', head(['GET / HTTP/1.1', 'Host: localhost', `X: ${'a'.repeat(102_400)}`]), / 431 /],
    ['no host', head(['GET / HTTP/1.1']), / 400 /],
    ['a foreign host before ours', head(['GET / HTTP/1.1', 'Host: evil.example', 'Host: localhost']), / 403 /],
    [
      'a body that says it has 10 GB',
      head(['POST /login HTTP/1.1', 'Host: localhost', FORM, 'Content-Length: 10000000000']),
      / 413 /,
    ],
    [
      'a body of unknown length that does not end',
      `${head(['POST /login HTTP/1.1', 'Host: localhost', FORM, 'Transfer-Encoding: chunked'])}2000\r\n${'a'.repeat(0x2000)}\r\n`,
      / 413 /,
    ],
    [
      'two lengths',
      `${head(['POST /login HTTP/1.1', 'Host: localhost', FORM, 'Content-Length: 4', 'Transfer-Encoding: chunked'])}0\r\n\r\n`,
      / 400 /,
    ],
    ['a line break in a header', 'GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a\nSet-Cookie: b\r\n\r\n', / 400 /],
    ['another protocol', 'SSH-2.0-m4rk\r\n\r\n', / 400 /],
  ])('with %s', async (_, bytes, expected) => {
    const { port } = await openPageScene(world);
    const answer = await exchange(port, bytes);
    expect(answer.split('\r\n')[0]).toMatch(expected);
    expect(answer).not.toContain('m4rk');
  });
});

describe('sessions', () => {
  const planted = 'f'.repeat(64);

  it('that somebody planted in the browser open nothing, before and after signing in', async () => {
    const { ask, post } = await openPageScene(world, { host: '192.0.2.1' });
    const cookie = `partner_etl_session=${planted}`;
    expect((await ask('/', { headers: { cookie } })).status).toBe(303);
    const { headers } = await post('/login', { token: TOKEN }, { cookie });
    expect(String(headers['set-cookie'])).not.toContain(planted);
    expect((await ask('/', { headers: { cookie } })).status).toBe(303);
  });

  it('have a new id with every sign-in, and the one before ends', async () => {
    const { ask, post, signIn } = await openPageScene(world, { host: '192.0.2.1' });
    const { cookie } = await signIn();
    await post('/login', { token: TOKEN }, { cookie });
    expect((await ask('/', { headers: { cookie } })).status).toBe(303);
  });

  it.each([
    'partner_etl_session=',
    'partner_etl_session=__proto__',
    `partner_etl_session=${'a'.repeat(63)}`,
    ';;;=',
    '%00',
  ])('are none: %s', async (cookie) => {
    const { ask } = await openPageScene(world, { host: '192.0.2.1' });
    expect((await ask('/', { headers: { cookie } })).status).toBe(303);
  });

  it('lead nowhere but to the page: no address that came with the request is in the answer', async () => {
    const { post } = await openPageScene(world);
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      referer: 'http://evil.example/',
    };
    const answer = await post(
      '/login',
      { token: TOKEN, next: '//evil.example', location: 'http://evil.example' },
      headers,
    );
    expect(answer.headers.location).toBe('/');
    expect(JSON.stringify(answer)).not.toContain('evil.example');
  });
});

it('neither the token nor what was tried in its place is in the log', async () => {
  const { post, ask, signIn } = await openPageScene(world);
  await signIn();
  await post('/login', { token: 'gu3ss\n{"level":50}' });
  await ask('/api/page', { headers: { authorization: 'Bearer gu3ss' } });
  const log = JSON.stringify(world.log);
  expect(log).toContain('somebody tried to sign in');
  expect(log).not.toContain('gu3ss');
  expect(log).not.toContain(TOKEN);
});
