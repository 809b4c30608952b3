import { describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { loadConfig, timingOf } from '../../src/config.ts';
import { LIMITS } from '../../src/core/limits.ts';
import { isNamed } from '../../src/core/pipeline.ts';
import { load, place, refusal } from './place.ts';

const CREDENTIALS = {
  PARTNER_AUTH_URL: 'https://login.example.com',
  PARTNER_CLIENT_ID: 'me',
  PARTNER_CLIENT_SECRET: 's3cret-s3cret',
};

const market = (country: string, language: string) =>
  `pipelines:\n  products:\n    markets:\n      - { country: ${country}, language: ${language} }\n`;

describe('settings files', () => {
  test('the shipped file alone is a complete set of settings', async () => {
    const config = await load();
    expect(config.timeZone).toBe('Europe/Amsterdam');
    expect(config.pipelines.orders).toEqual({
      enabled: true,
      schedule: '30 5 * * *',
      startDay: null,
      lookbackDays: 45,
      windowDays: 7,
      lagDays: 1,
    });
    expect(config.eans).toEqual({ file: null, query: expect.stringContaining('ORDER BY SUM(value) DESC') });
    expect(config.pipelines.products).toEqual({
      enabled: true,
      schedule: '30 5 * * *',
      callsPerNight: 5000,
      freshHours: 20,
      refreshDays: 14,
      markets: [{ country: 'NL', language: 'nl' }],
      include: { specifications: true, image: true, offer: true, rating: true },
    });
    expect(config.pipelines['commission-rates']).toEqual({
      enabled: true,
      schedule: '30 5 * * *',
      callsPerNight: 10_000,
      freshHours: 20,
      condition: 'NEW',
    });
    expect(config.pipelines.reductions).toEqual({
      enabled: true,
      schedule: '30 5 * * *',
      recheckMinutes: 30,
      delimiter: ',',
      columns: {
        ean: 'EAN',
        maximumPrice: 'MaximumPrice',
        costReduction: 'CostReduction',
        startDate: 'StartDate',
        endDate: 'EndDate',
      },
    });
    expect(config.serve).toEqual({
      schedule: true,
      runLimitMinutes: 360,
      host: '127.0.0.1',
      port: 8420,
      trustedProxies: [],
    });
    expect(config.subIds).toEqual({ grammar: null });
    expect(config.targets).toEqual({ duckdb: true, postgresUrl: null, ducklake: null });
    expect(config.guards).toEqual({ shrink: { minRows: 20, keepRatio: 0.5 } });
    expect(config.files).toEqual(['config/default.yaml']);
    expect(config.warnings).toEqual([]);
  });

  test.each([
    '{site}',
    'nl-{site}',
    '{site}|{placement}|{campaign}',
    '{a} {b}\'"\\{c}🦆{d}',
    '{a}.{b}.{c}.{d}.{e}.{f}.{g}.{h}.{i}.{j}',
  ])('%s is a grammar of sub-IDs', async (grammar) => {
    const config = await load(JSON.stringify({ subIds: { grammar } }));
    expect(config.subIds).toEqual({ grammar });
  });

  test('the local file overrides key by key and leaves the neighbours alone', async () => {
    const config = await load(
      "pipelines:\n  orders:\n    lookbackDays: 90\n    startDay: 2024-02-29\nservice:\n  timeZone: 'UTC'\n",
    );
    expect(config.pipelines.orders).toMatchObject({ lookbackDays: 90, startDay: '2024-02-29', windowDays: 7 });
    expect(config.pipelines.promotions).toMatchObject({ lookbackDays: 45 });
    expect(config.timeZone).toBe('UTC');
    expect(config.files).toEqual(['config/default.yaml', 'config/local.yaml']);
  });

  test('every pipeline that people name has its timing, and a part has none', async () => {
    const config = await load('pipelines:\n  reductions:\n    enabled: false\n');
    const timed = pipelines.filter(({ name }) => timingOf(config, name) !== null);
    expect(timed).toEqual(pipelines.filter(isNamed));
    expect(timingOf(config, 'reductions')).toMatchObject({ enabled: false, schedule: '30 5 * * *' });
  });

  test('the EAN file starts at the working directory, and the query can be switched off', async () => {
    const root = await place('eans:\n  file: lists/eans.csv\n  query: null\n');
    const { eans } = await loadConfig({ env: {}, cwd: '/srv/etl', packageRoot: root });
    expect(eans).toEqual({ file: '/srv/etl/lists/eans.csv', query: null });
  });

  test('a list is replaced whole', async () => {
    const { pipelines: settings } = await load(
      'pipelines:\n  products:\n    markets: [{ country: BE, language: fr-BE }]\n',
    );
    expect(settings.products).toMatchObject({ markets: [{ country: 'BE', language: 'fr-BE' }] });
  });

  test.each(['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080'])(
    'a sandbox at %s may be driven harder than the service',
    async (address) => {
      const local = 'service:\n  retailer:\n    commission:\n      budget: { calls: 2000 }\n';
      const config = await load(local, { ...CREDENTIALS, PARTNER_BASE_URL: address });
      expect(config.partners.retailer?.calls['commission-rates']?.budget.calls).toBe(2000);
      const error = await refusal(local, { ...CREDENTIALS, PARTNER_BASE_URL: 'https://api.example.com' });
      expect(error.message).toContain('at most 28 calls a second');
    },
  );

  test.each([
    ['an empty file', ''],
    ['only comments', '# nothing\n'],
    ['sections whose keys are all commented out', 'pipelines:\n  orders:\n    # lookbackDays: 3\nguards:\n'],
  ])('%s changes nothing', async (_, local) => {
    expect((await load(local)).pipelines).toEqual((await load()).pipelines);
  });

  test('the settings cannot be changed, at no depth', async () => {
    const config = await load();
    const orders = config.pipelines.orders as unknown as { lookbackDays: number };
    expect(() => {
      orders.lookbackDays = 1;
    }).toThrow(TypeError);
    expect(Object.isFrozen(config.guards.shrink)).toBe(true);
  });
});

describe('what is refused', () => {
  test.each<[string, string, string[]]>([
    [
      'a wrong type, with file, line, key, value and what is accepted',
      'pipelines:\n  orders:\n    lookbackDays: many\n',
      ['config/local.yaml:3', 'pipelines.orders.lookbackDays = "many"', 'a whole number of days from 1 to 3650'],
    ],
    [
      'a number as text',
      "guards:\n  shrink:\n    minRows: '20'\n",
      ['config/local.yaml:3', '= "20"', 'a whole number'],
    ],
    ...[
      ...[
        '',
        'site',
        '{}',
        '{Site}',
        '{site',
        'site}',
        '{a}{b}',
        '{a}|{a}',
        '{a}|{b}}',
        '{a}{{b}',
        '{a}\\n{b}',
        '{a1}',
      ],
      '{a}.{b}.{c}.{d}.{e}.{f}.{g}.{h}.{i}.{j}.{k}',
    ].map((grammar): [string, string, string[]] => [
      `"${grammar}" as a grammar of sub-IDs`,
      `subIds:\n  grammar: "${grammar}"\n`,
      ['config/local.yaml:2', 'subIds.grammar', '1 to 10 names in braces'],
    ]),
    ['a fraction of a day', 'pipelines:\n  orders:\n    lagDays: 1.5\n', ['pipelines.orders.lagDays = 1.5']],
    ['an impossible number', 'guards:\n  shrink:\n    keepRatio: 1.5\n', ['= 1.5', 'a number from 0 to 1']],
    ['no value', 'guards:\n  shrink:\n    keepRatio:\n', ['guards.shrink.keepRatio = null']],
    ['a day that does not exist', 'pipelines:\n  orders:\n    startDay: 2025-02-29\n', ['"2025-02-29"', 'yyyy-mm-dd']],
    [
      'a window longer than the limit',
      'pipelines:\n  orders:\n    windowDays: 367\n',
      [`= 367`, `to ${LIMITS.windowDays}`],
    ],
    ['a bad schedule', "pipelines:\n  orders:\n    schedule: '61 5 * * *'\n", ['"61 5 * * *"', 'five fields']],
    ['a schedule with seconds', "pipelines:\n  orders:\n    schedule: '0 30 5 * * *'\n", ['five fields']],
    ['the name of a schedule', "pipelines:\n  orders:\n    schedule: '@daily'\n", ['"@daily"', 'five fields']],
    ['a run without time', 'serve:\n  runLimitMinutes: 0\n', ['a whole number of minutes from 1 to 10080']],
    ['an address with a path', 'serve:\n  host: 0.0.0.0/healthz\n', ['serve.host', 'an address to listen on']],
    ['a day that never comes', "pipelines:\n  orders:\n    schedule: '0 5 31 2 *'\n", ['five fields']],
    ['an unknown zone', 'service:\n  timeZone: Europe/Amsterdm\n', ['service.timeZone = "Europe/Amsterdm"']],
    ['a fixed offset as zone', "service:\n  timeZone: '+01:00'\n", ['the name of a time zone']],
    ['a section that is a value', 'pipelines: 5\n', ['config/local.yaml:1', 'pipelines = 5', 'a section of settings']],
    ['a near miss', 'pipelines:\n  orders:\n    lookback_day: 3\n', ['local.yaml:3', 'did you mean "lookbackDays"?']],
    ['an unknown pipeline', 'pipelines:\n  oders: {}\n', ['pipelines.oders: unknown key; did you mean "orders"?']],
    ['a key in the wrong section', 'lookbackDays: 3\n', ['did you mean "pipelines.promotions.lookbackDays"?']],
    [
      'a stranger',
      'guards:\n  shrink:\n    colour: red\n',
      ['guards.shrink.colour: unknown key; known here: minRows, keepRatio'],
    ],
    ['a poisoned key', '__proto__:\n  polluted: 1\n', ['config/local.yaml:1', '__proto__: unknown key']],
    ['a key that is no text', 'guards:\n  7: 1\n', ['guards.7: unknown key']],
    ['longest pause below the first', 'service:\n  retry:\n    longestMs: 10\n', ['service.retry.longestMs = 10']],
    ['a total below its parts', 'service:\n  timeouts:\n    totalMs: 200\n', ['not smaller than the other three']],
    [
      'more reductions calls than the service bears',
      'service:\n  retailer:\n    reductions:\n      budget: { calls: 11 }\n',
      ['local.yaml:4', 'a budget of at most 10 calls in 3600 seconds'],
    ],
    [
      'more commission calls than the service bears',
      'service:\n  retailer:\n    commission:\n      budget: { calls: 29 }\n',
      ['at most 28 calls a second'],
    ],
    [
      'as many calls in a shorter time',
      'service:\n  retailer:\n    reductionsName:\n      budget: { perSeconds: 2000 }\n',
      ['local.yaml:4: service.retailer.reductionsName.budget', '10 calls in 3600 seconds'],
    ],
    ['a country that is none', market('NLD', 'nl'), ['markets.0.country = "NLD"', 'two capital letters']],
    ['a language that is none', market('NL', 'dutch'), ['markets.0.language = "dutch"', 'such as nl or nl-BE']],
    ['no market', 'pipelines:\n  products:\n    markets: []\n', ['a list of one country and language or more']],
    [
      'a market twice',
      `${market('NL', 'nl')}      - { country: NL, language: nl }\n`,
      ['local.yaml:3', 'each only once'],
    ],
    ['an unknown condition', 'pipelines:\n  commission-rates:\n    condition: OLD\n', ['"OLD"', 'one of NEW, AS_NEW']],
    ['a delimiter of two', "pipelines:\n  reductions:\n    delimiter: ';;'\n", ['";;"', 'one character']],
    ['a column twice', 'pipelines:\n  reductions:\n    columns: { ean: EndDate }\n', ['five different names']],
    ['an EAN file without a name', "eans:\n  file: ' '\n", ['eans.file', 'the path of a CSV file']],
    ['a query without words', "eans:\n  query: ' '\n", ['eans.query', 'a SQL query']],
    ['settings for a part', 'pipelines:\n  reductions-files: {}\n', ['pipelines.reductions-files: unknown key']],
    [
      'a path without its placeholder',
      'service:\n  catalog:\n    product:\n      path: /marketing/catalog/products\n',
      ['holds {ean}'],
    ],
    [
      'a path with a query',
      "service:\n  reports:\n    orders:\n      path: '/reports?x=1'\n",
      ['service.reports.orders.path', 'a path that begins with "/"'],
    ],
    [
      'a header in a media type',
      'service:\n  reports:\n    orders:\n      accept: "a/b\\r\\nX: y"\n',
      ['a media type'],
    ],
    ['no warehouse at all', 'targets:\n  duckdb:\n    enabled: false\n', ['no warehouse is left']],
  ])('%s', async (_, local, parts) => {
    const error = await refusal(local);
    expect([error.kind, error.code]).toEqual(['usage', 'bad_setting']);
    for (const part of parts) expect(error.message).toContain(part);
  });

  test.each<[string, string, string]>([
    ['a tab', 'pipelines:\n\torders: 1\n', 'config/local.yaml:2:1'],
    ['bad indentation', 'pipelines:\n  orders:\n    enabled: true\n   windowDays: 3\n', 'config/local.yaml:4:'],
    ['an open quote', 'service:\n  timeZone: "UTC\n', 'config/local.yaml:'],
    ['a key twice', 'guards:\n  shrink: {}\nguards: {}\n', 'config/local.yaml:3:1'],
    ['two documents', 'guards: {}\n---\nguards: {}\n', 'config/local.yaml:2:'],
    ['a list', '- guards\n', 'config/local.yaml:1'],
    ['an alias', 'guards: &g\n  shrink: {}\ntargets: *g\n', 'config/local.yaml:3'],
    ['an alias without anchor', 'targets: *g\n', 'config/local.yaml:1'],
  ])('%s, with line and column', async (_, local, where) => {
    const error = await refusal(local);
    expect(error.code).toBe('bad_setting');
    expect(error.message).toContain(where);
  });

  test('text that is not UTF-8', async () => {
    const error = await refusal(Uint8Array.of(0x61, 0x3a, 0x20, 0xff));
    expect(error.code).toBe('bad_setting');
    expect(error.message).toContain('is not UTF-8');
  });

  test('everything that is wrong is told at once', async () => {
    const error = await refusal('guards: no\npipelines:\n  orders:\n    winowDays: 3\n    lagDays: x\n', {
      PARTNER_ETL_TODAY: 'yesterday',
    });
    expect(error.message.split('\n')).toEqual([
      '4 settings are wrong',
      expect.stringContaining('config/local.yaml:1: guards = "no"'),
      expect.stringContaining('config/local.yaml:4: pipelines.orders.winowDays'),
      expect.stringContaining('config/local.yaml:5: pipelines.orders.lagDays = "x"'),
      expect.stringContaining('environment: PARTNER_ETL_TODAY = "yesterday": a day as yyyy-mm-dd is accepted'),
    ]);
  });
});

describe('secrets in a settings file', () => {
  const SECRET = 'hunter2-hunter2';

  test.each([
    ['as an unknown key', `service:\n  clientSecret: ${SECRET}\n`],
    ['as a snake case key', `client_secret: ${SECRET}\n`],
    ['in an address', `service:\n  baseUrl: https://me:${SECRET}@api.example.com\n`],
    ['in a broken address', `service:\n  baseUrl: me:${SECRET}@api.example.com\n`],
    ['in a warehouse address', `targets:\n  postgres:\n    url: postgres://etl:${SECRET}@db/x\n`],
    ['in a value that is of the environment', `service:\n  timeZone: ${SECRET}\n`],
    ['in a value that cannot be read', `service:\n  timeZone: "${SECRET}" ${SECRET}\n`],
    ['as an alias', `service: *${SECRET}\n`],
    ['as a tag', `service: !${SECRET} x\n`],
    ['as a bare line', `${SECRET}\n`],
  ])('%s are refused and not repeated', async (_, local) => {
    const error = await refusal(local, { PARTNER_CLIENT_SECRET: SECRET });
    expect(error.code).toBe('bad_setting');
    expect(`${error.message} ${error.hint}`).not.toContain(SECRET);
  });

  test('a key that speaks of a secret is told where secrets belong', async () => {
    const error = await refusal('service:\n  password: x\n');
    expect(error.message).toContain('config/local.yaml:2: service.password: secrets and client ids never stand');
  });
});
