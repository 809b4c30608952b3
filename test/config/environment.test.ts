import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig, requirePartner, secretsOf, todayOf } from '../../src/config.ts';
import { load, place, refusal } from './place.ts';

const COMPLETE = {
  PARTNER_BASE_URL: 'https://api.example.com/',
  PARTNER_AUTH_URL: 'https://login.example.com',
  PARTNER_CLIENT_ID: 'me',
  PARTNER_CLIENT_SECRET: 's3cret-s3cret',
};

describe('credentials and addresses', () => {
  test('a complete environment gives everything that calls need, versions filled in', async () => {
    const partner = requirePartner(await load(undefined, COMPLETE), 'reports');
    expect(partner).toMatchObject({
      baseUrl: 'https://api.example.com',
      authUrl: 'https://login.example.com',
      credentials: { clientId: 'me', clientSecret: 's3cret-s3cret' },
      token: { path: '/token', renewBeforeSeconds: 30, circuitMinutes: 60, mostPerHour: 30 },
    });
    expect(partner.calls.orders).toEqual({
      path: '/marketing/affiliate/reports/v2/order-report',
      accept: 'application/json',
      startParameter: 'startDate',
      endParameter: 'endDate',
      budget: { calls: 2, perSeconds: 1, concurrency: 2 },
    });
  });

  test('a home with a question mark in its path is refused by name', async () => {
    await expect(load(undefined, { ...COMPLETE, PARTNER_ETL_HOME: '/srv/what?/etl' })).rejects.toMatchObject({
      ...{ kind: 'usage', code: 'home_name', hint: expect.stringContaining('PARTNER_ETL_HOME') },
    });
    await expect(load(undefined, { ...COMPLETE, PARTNER_ETL_HOME: "/srv/it's [a] *" })).resolves.toBeDefined();
  });

  test('the environment wins over the file', async () => {
    const local = 'service:\n  baseUrl: https://file.example.com\n  authUrl: https://file-auth.example.com/\n';
    const { PARTNER_AUTH_URL: _, ...rest } = COMPLETE;
    expect(requirePartner(await load(local, rest), 'reports')).toMatchObject({
      baseUrl: 'https://api.example.com',
      authUrl: 'https://file-auth.example.com',
    });
  });

  test('without credentials settings load, and only a command that calls names what is missing', async () => {
    const config = await load(undefined, { PARTNER_BASE_URL: 'https://api.example.com', PARTNER_CLIENT_ID: ' ' });
    expect(config.partners).toEqual({ reports: null, catalog: null, retailer: null });
    expect(config.partnerMissing.retailer).toEqual([
      'PARTNER_AUTH_URL',
      'PARTNER_CLIENT_ID',
      'PARTNER_CLIENT_SECRET (or PARTNER_CLIENT_SECRET_FILE)',
    ]);
    expect(() => requirePartner(config, 'catalog')).toThrow(
      expect.objectContaining({
        kind: 'usage',
        code: 'no_credentials',
        message: expect.stringContaining('PARTNER_AUTH_URL'),
      }),
    );
  });

  test('a named pair is read from its own variables', async () => {
    const local = 'service:\n  reports:\n    credentials: my-shop\n';
    const named = { PARTNER_MY_SHOP_CLIENT_ID: 'shop', PARTNER_MY_SHOP_CLIENT_SECRET: 'shop-secret' };
    const config = await load(local, { ...COMPLETE, ...named });
    const shop = { clientId: 'shop', clientSecret: 'shop-secret' };
    expect(requirePartner(config, 'reports').credentials).toEqual(shop);
    expect(requirePartner(config, 'retailer').credentials).toEqual({ clientId: 'me', clientSecret: 's3cret-s3cret' });
  });

  test('an area whose pair is not set holds no other area back', async () => {
    const config = await load('service:\n  catalog:\n    credentials: my-shop\n', COMPLETE);
    expect(config.partnerMissing).toEqual({
      reports: [],
      catalog: ['PARTNER_MY_SHOP_CLIENT_ID', 'PARTNER_MY_SHOP_CLIENT_SECRET (or PARTNER_MY_SHOP_CLIENT_SECRET_FILE)'],
      retailer: [],
    });
    expect(config.partners.catalog).toBeNull();
    expect(requirePartner(config, 'reports')).toEqual(requirePartner(config, 'retailer'));
  });

  test('what is wrong with a pair that several areas share is told once', async () => {
    const error = await refusal(undefined, { ...COMPLETE, PARTNER_CLIENT_ID: 'a:b' });
    expect(error.message.split('PARTNER_CLIENT_ID')).toHaveLength(2);
  });

  test('versions are filled in for every area', async () => {
    const local = 'service:\n  catalog: { version: v9 }\n  retailer: { version: v5 }\n';
    const { calls, retailer } = requirePartner(await load(local, COMPLETE), 'retailer');
    expect(calls.products).toEqual({
      path: '/marketing/catalog/v9/products/{ean}',
      accept: 'application/json',
      countryParameter: 'country-code',
      budget: expect.objectContaining({ calls: 10, perSeconds: 1, concurrency: 8 }),
    });
    expect(calls['commission-rates']).toMatchObject({
      budget: { calls: 28, perSeconds: 1, concurrency: 16 },
      single: { path: '/retailer/commission/{ean}', accept: 'application/vnd.retailer.v5+json' },
      bulk: { contentType: 'application/vnd.retailer.v5+json', priceField: 'unitPrice', eansPerRequest: 100 },
    });
    expect(retailer).toMatchObject({
      reductions: { accept: 'application/vnd.retailer.v5+csv', budget: { calls: 8, perSeconds: 3600 } },
      reductionsName: { path: '/retailer/reductions/latest', accept: 'application/vnd.retailer.v5+csv' },
    });
    expect(JSON.stringify({ calls, retailer })).not.toContain('{version}');
  });

  test.each<[string, boolean]>([
    ['https://api.example.com', true],
    ['https://api.example.com/base/', true],
    ['http://127.0.0.1:8080', true],
    ['http://localhost:8080', true],
    ['http://[::1]:8080', true],
    ['http://api.example.com', false],
    ['http://127.0.0.1.example.com', false],
    ['http://localhost.example.com', false],
    ['https://me@api.example.com', false],
    ['https://me:pw@api.example.com', false],
    ['https://api.example.com?x=1', false],
    ['https://api.example.com#x', false],
    ['ftp://api.example.com', false],
    ['api.example.com', false],
  ])('the address %s is accepted: %s', async (address, good) => {
    const env = { ...COMPLETE, PARTNER_BASE_URL: address };
    const verdict = await load(undefined, env).then(
      () => true,
      () => false,
    );
    expect(verdict).toBe(good);
  });
});

describe('secret files', () => {
  async function withFile(content: string, mode: number, more: Readonly<Record<string, string>> = {}) {
    const root = await place();
    await writeFile(path.join(root, 'secret'), content);
    await chmod(path.join(root, 'secret'), mode);
    const { PARTNER_CLIENT_SECRET: _, ...rest } = COMPLETE;
    return loadConfig({
      env: { ...rest, PARTNER_CLIENT_SECRET_FILE: 'secret', ...more },
      cwd: root,
      packageRoot: root,
    });
  }

  test.each([
    ['as it is', 'a b c'],
    ['without the newline at its end', 'a b c\n'],
    ['without the Windows newline at its end', 'a b c\r\n'],
  ])('the secret is read %s', async (_, content) => {
    const config = await withFile(content, 0o600);
    expect(requirePartner(config, 'reports').credentials.clientSecret).toBe('a b c');
    expect(config.warnings).toEqual([]);
  });

  test('a file that others can read is a warning', async () => {
    expect((await withFile('x-secret', 0o644)).warnings).toEqual([expect.stringContaining('chmod 600')]);
  });

  test.each<[string, string, Record<string, string>, string]>([
    ['an empty file', '\n', {}, 'is empty'],
    ['a second line', 'topsecret\nmore', {}, 'one line without control characters'],
    ['a huge file', 'x'.repeat(5000), {}, 'is larger than'],
    ['a missing file', 'topsecret', { PARTNER_CLIENT_SECRET_FILE: 'elsewhere' }, 'cannot be read (ENOENT)'],
    ['a secret and a file', 'topsecret', { PARTNER_CLIENT_SECRET: 'topsecret2' }, 'keep one of them'],
  ])('%s is refused without showing anything', async (_, content, more, part) => {
    const error: unknown = await withFile(content, 0o600, more).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'bad_setting', message: expect.stringContaining(part) });
    expect(String(error)).not.toContain('topsecret');
  });
});

describe('the token of the status page', () => {
  const TOKEN = 'sixteen-letters!';

  test('comes from its variable, or from the file that another one names, and is a secret', async () => {
    expect((await load()).pageToken).toBeNull();
    const env = { PARTNER_ETL_PAGE_TOKEN: TOKEN };
    const config = await load(undefined, env);
    expect([config.pageToken, secretsOf(config, env)]).toEqual([TOKEN, [TOKEN]]);
    const root = await place();
    await writeFile(path.join(root, 'token'), `${TOKEN}\n`, { mode: 0o600 });
    const named = { PARTNER_ETL_PAGE_TOKEN_FILE: 'token' };
    const other = await loadConfig({ env: named, cwd: root, packageRoot: root });
    expect([other.pageToken, other.warnings, secretsOf(other, named)]).toEqual([TOKEN, [], [TOKEN]]);
  });

  test('that could be guessed is refused without being shown', async () => {
    const error = await refusal(undefined, { PARTNER_ETL_PAGE_TOKEN: 'sh0rt' });
    expect(error).toMatchObject({ code: 'bad_setting', message: expect.stringContaining('at least 16 characters') });
    expect(error.message).toContain('PARTNER_ETL_PAGE_TOKEN');
    expect(error.message).not.toContain('sh0rt');
  });
});

describe('the rest of the environment', () => {
  test('the home directory is ./data of the current folder, or the one that is named', async () => {
    const root = await place();
    const at = async (env: Record<string, string>) =>
      (await loadConfig({ env, cwd: root, packageRoot: root })).home.root;
    expect(await at({})).toBe(path.join(root, 'data'));
    expect(await at({ PARTNER_ETL_HOME: 'elsewhere' })).toBe(path.join(root, 'elsewhere'));
    expect(await at({ PARTNER_ETL_HOME: '/srv/etl' })).toBe('/srv/etl');
  });

  test('PARTNER_ETL_CONFIG names the file that overrides, in place of config/local.yaml', async () => {
    const root = await place('guards: 7\n');
    await writeFile(path.join(root, 'other.yaml'), 'guards:\n  shrink:\n    minRows: 5\n');
    const env = { PARTNER_ETL_CONFIG: 'other.yaml' };
    const config = await loadConfig({ env, cwd: root, packageRoot: root });
    expect(config.guards.shrink.minRows).toBe(5);
    expect(config.files).toEqual(['config/default.yaml', 'other.yaml']);
  });

  test('a file that PARTNER_ETL_CONFIG names must be there', async () => {
    expect(await refusal(undefined, { PARTNER_ETL_CONFIG: 'nowhere.yaml' })).toMatchObject({
      kind: 'usage',
      code: 'no_settings_file',
      message: expect.stringContaining('nowhere.yaml'),
    });
  });

  test('Postgres is on when its address is set, and alone when DuckDB is off', async () => {
    const config = await load('targets:\n  duckdb:\n    enabled: false\n', {
      PARTNER_ETL_POSTGRES_URL: 'postgres://etl:pw-pw-pw@db:5432/shop?sslmode=verify-full',
    });
    const postgresUrl = 'postgres://etl:pw-pw-pw@db:5432/shop?sslmode=verify-full';
    expect(config.targets).toEqual({ duckdb: false, postgresUrl, ducklake: null });
  });

  test.each([
    ['postgres://etl:pw-pw-pw@db/shop', false],
    ['postgres://etl:pw-pw-pw@10.0.0.7/shop?sslmode=prefer', false],
    ['postgres:///shop?host=db.example.com&user=etl', false],
    ['postgres://etl:pw-pw-pw@db/shop?sslmode=require', true],
    ['postgres://etl@127.0.0.1/shop', true],
    ['postgres://etl@[::1]/shop', true],
    ['postgresql://etl@localhost/shop', true],
    ['postgres:///shop?host=/var/run/postgresql&user=etl', true],
  ])('%s keeps password and rows to itself: %s', async (url, isTaken) => {
    const env = { PARTNER_ETL_POSTGRES_URL: url };
    if (isTaken) expect((await load(undefined, env)).targets.postgresUrl).toBe(url);
    else {
      const { message } = await refusal(undefined, env);
      expect(message).toContain('PARTNER_ETL_POSTGRES_URL: password and rows would be sent in clear');
      expect(message).not.toContain('pw-pw-pw');
    }
    const trusted = await load('targets:\n  postgres:\n    requireTls: false\n', env);
    expect(trusted.targets.postgresUrl).toBe(url);
  });

  test('a Postgres address of another kind is refused and not shown', async () => {
    const error = await refusal(undefined, { PARTNER_ETL_POSTGRES_URL: 'mysql://etl:pw-pw-pw@db/shop' });
    expect(error.message).toContain('PARTNER_ETL_POSTGRES_URL: an address such as');
    expect(error.message).not.toContain('pw-pw-pw');
  });

  test("today is the service's day, unless one is pretended", async () => {
    // Half an hour before midnight in London is the next day in Amsterdam.
    const clock = { now: () => Date.parse('2026-03-01T23:30:00Z'), sleep: async () => undefined };
    expect(todayOf(await load(), clock)).toBe('2026-03-02');
    expect(todayOf(await load(undefined, { PARTNER_ETL_TODAY: '2025-12-31' }), clock)).toBe('2025-12-31');
  });

  test.each([
    ['PARTNER_BASEURL', 'PARTNER_BASE_URL'],
    ['PARTNER_ETL_POSTGRESS_URL', 'PARTNER_ETL_POSTGRES_URL'],
  ])('a misspelt variable (%s) is a warning', async (wrong, right) => {
    const { warnings } = await load(undefined, { [wrong]: 'x', PARTNER_SHOP_CLIENT_ID: 'x', HOME: '/root' });
    expect(warnings).toEqual([`${wrong} is set, but nothing reads it; did you mean ${right}?`]);
  });

  test('what must never be shown is known: secret, password, and the pair as it is sent', async () => {
    const env = { ...COMPLETE, PARTNER_ETL_POSTGRES_URL: 'postgres://etl:p%40ss-word@db/shop?sslmode=require' };
    const local = 'service:\n  retailer:\n    credentials: shop\n';
    const shop = { PARTNER_SHOP_CLIENT_ID: 'two', PARTNER_SHOP_CLIENT_SECRET: 'shop-secret' };
    const secrets = secretsOf(await load(local, { ...env, ...shop }), env);
    const basic = Buffer.from('me:s3cret-s3cret').toString('base64');
    expect(secrets).toEqual(expect.arrayContaining(['s3cret-s3cret', basic, 'p%40ss-word', 'p@ss-word']));
    expect(secrets).toEqual(expect.arrayContaining(['shop-secret', Buffer.from('two:shop-secret').toString('base64')]));
  });
});
