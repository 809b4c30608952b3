import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkNode, judgeDisk, NODE_FLOOR } from '../../../src/cli/doctor/checks.ts';
import { judgeToken } from '../../../src/cli/doctor/doctor.ts';
import { checkHomeParts, checkHomeRights } from '../../../src/cli/doctor/home.ts';
import { judgeSkew } from '../../../src/cli/doctor/service.ts';
import type { TokenState } from '../../../src/partner/token/token.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { place } from '../../config/place.ts';
import { type Ran, REPOSITORY, run } from '../surroundings.ts';

interface Report {
  readonly healthy: boolean;
  readonly checks: readonly {
    readonly check: string;
    readonly state: string;
    readonly detail: string;
    readonly fix: string | null;
  }[];
}

/** The Date header of its answers is Node's own, so the sandbox must live now. */
const NOW = Date.now();

async function diagnose(
  env: Record<string, string>,
  words: string[] = [],
  local?: string,
): Promise<Ran & { report: Report; root: string }> {
  const root = await place(local);
  const ran = await run(['doctor', '--json', ...words], { env, cwd: root, packageRoot: root, nowMs: NOW });
  return { ...ran, root, report: JSON.parse(ran.stdout.text) as Report };
}

const stateOf = ({ checks }: Report, name: string) => checks.find(({ check }) => check === name)?.state;

async function sandboxEnvironment() {
  const sandbox = await startSandbox({ seed: 1, ordersPerDay: 50, now: () => NOW });
  onTestFinished(() => sandbox.close());
  const env = {
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET: sandbox.clientSecret,
  };
  return { sandbox, env };
}

describe('doctor --online', () => {
  test('calls every endpoint once, with one token, says what is rare, and changes nothing', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    const { code, report } = await diagnose(env, ['--online']);
    expect(code).toBe(0);
    const { calls, tokenRequests, failures, overBudget } = sandbox.stats;
    expect(calls).toEqual({
      ...{ token: 1, promotions: 1, orders: 1, commissions: 1, product: 1, commission: 1, 'commission-bulk': 1 },
      ...{ 'reductions-latest': 1, 'signature-keys': 1, 'process-status': 1, 'subscription-list': 1 },
    });
    expect([tokenRequests, failures, overBudget]).toEqual([1, [], {}]);
    expect(stateOf(report, 'orders call')).toBe('ok');
    const { detail } = report.checks.find(({ check }) => check === 'reductionsName call')!;
    expect(detail).toMatch(/^answers 200.*; one of its 8 calls in 60 minutes$/);
    expect(report.checks.find(({ check }) => check === 'clock')).toMatchObject({ state: 'ok' });
    expect(stateOf(report, 'webhook')).toBe('skipped');
  });

  test('an endpoint that refuses is broken with its fix, and the others are still asked', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 400 });
    const { code, report } = await diagnose(env, ['--online']);
    expect(code).toBe(1);
    const broken = report.checks.filter(({ state }) => state === 'broken');
    expect(broken).toMatchObject([{ check: 'orders call', fix: expect.any(String) }]);
    expect(stateOf(report, 'commissions call')).toBe('ok');
  });

  test('a clock that is wrong is said with the fix', async () => {
    const { env } = await sandboxEnvironment();
    const root = await place();
    const fast = { env, cwd: root, packageRoot: root, nowMs: NOW + 40_000 };
    const { stdout } = await run(['doctor', '--online', '--json'], fast);
    const { checks } = JSON.parse(stdout.text) as Report;
    expect(checks.find(({ check }) => check === 'clock')).toMatchObject({
      ...{ state: 'warning', fix: expect.stringContaining('timedatectl') },
      detail: expect.stringMatching(/^\d+ s ahead of the service’s$/),
    });
  });

  test('an address that was banned asks for nothing until somebody says that the ban is lifted, and then all is well', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    sandbox.addFault({ endpoint: 'token', kind: 'status', status: 404 });
    const root = await place();
    const doctor = async (...words: string[]) => {
      const { code } = await run(['doctor', '--online', '--json', ...words], {
        env,
        cwd: root,
        packageRoot: root,
        nowMs: NOW,
      });
      return [code, sandbox.stats.calls.token];
    };
    expect(await doctor()).toEqual([1, 1]);
    expect(await doctor()).toEqual([1, 1]);
    expect(await doctor('--ban-lifted')).toEqual([0, 2]);
  });

  test('without a token no endpoint is called', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    await diagnose({ ...env, PARTNER_CLIENT_SECRET: 'not-the-secret' }, ['--online']);
    expect(sandbox.stats.calls).toEqual({ token: 1 });
  });
});

test.each([
  [0, 'ok', 'as the service’s'],
  [-29_000, 'ok', '29 s behind the service’s'],
  [31_000, 'warning', '31 s ahead of the service’s'],
  [-301_000, 'broken', '301 s behind the service’s: days are taken for others, and tokens for fresh when they are not'],
])('a clock that is %i ms ahead is %s', (skewMs, state, detail) => {
  expect(judgeSkew(skewMs)).toMatchObject({ state, detail });
});

describe('the home directory', () => {
  const uid = process.getuid?.() ?? 0;
  async function home(): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), 'partner-etl-home-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  test('of this user is fine, and so is one that is not there yet', async () => {
    const folder = await home();
    await mkdir(path.join(folder, 'raw'));
    expect(await checkHomeRights(folder, uid)).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('mode 700'),
    });
    expect(await checkHomeParts(folder, uid)).toMatchObject({ state: 'ok' });
    expect(await checkHomeRights(path.join(folder, 'none'), uid)).toMatchObject({ state: 'ok' });
  });

  test('of another user is broken, as are parts of it', async () => {
    const folder = await home();
    await mkdir(path.join(folder, 'raw'));
    const other = uid + 1;
    expect(await checkHomeRights(folder, other)).toMatchObject({
      state: 'broken',
      fix: expect.stringContaining('chown'),
    });
    expect(await checkHomeParts(folder, other)).toMatchObject({
      state: 'broken',
      detail: expect.stringMatching(/^raw under/),
    });
  });

  test('that others may write to is broken', async () => {
    const folder = await home();
    await chmod(folder, 0o777);
    expect(await checkHomeRights(folder, uid)).toMatchObject({ state: 'broken', fix: `chmod go-w ${folder}` });
  });

  test('may be a link itself, but links in it are warned of', async () => {
    const folder = await home();
    await symlink(folder, path.join(folder, 'lake'));
    expect(await checkHomeRights(path.join(folder, 'lake'), uid)).toMatchObject({
      state: 'ok',
      detail: expect.stringContaining('→'),
    });
    expect(await checkHomeParts(folder, uid)).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^lake under/),
    });
  });
});

describe('doctor', () => {
  test('without credentials exactly those are broken, and nothing is left behind', async () => {
    const { code, report, root } = await diagnose({});
    expect(code).toBe(1);
    expect(report.healthy).toBe(false);
    expect(report.checks.filter(({ state }) => state === 'broken').map(({ check }) => check)).toEqual(['credentials']);
    expect(stateOf(report, 'duckdb')).toBe('ok');
    expect(stateOf(report, 'time zone')).toBe('ok');
    expect(stateOf(report, 'postgres')).toBe('skipped');
    expect(await readdir(root)).toEqual(['config']);
  });

  test('a day that is pretended is warned of, with what it does to alerts', async () => {
    const { stderr, report } = await diagnose({ PARTNER_ETL_TODAY: '2026-03-01' });
    expect(report.checks.find(({ check }) => check === 'today')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/2026-03-01.*no alert/),
      fix: expect.stringContaining('PARTNER_ETL_TODAY'),
    });
    expect(stderr.lines.filter((line) => line.includes('PARTNER_ETL_TODAY'))).toHaveLength(1);
    expect(stateOf((await diagnose({})).report, 'today')).toBe('ok');
  });

  test('with credentials nothing is broken, and the service was not called', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    const { code, report } = await diagnose(env);
    expect([code, report.healthy]).toEqual([0, true]);
    expect(stateOf(report, 'online')).toBe('skipped');
    expect([sandbox.stats.tokenRequests, sandbox.stats.calls]).toEqual([0, {}]);
  });

  test('--online gets a token once, and uses the one in the state after that', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    const { code, report, root } = await diagnose(env, ['--online']);
    expect([code, stateOf(report, 'online')]).toEqual([0, 'ok']);
    const again = await run(['doctor', '--online', '--json'], {
      env,
      cwd: root,
      packageRoot: root,
      nowMs: NOW + 30_000,
    });
    const token = (JSON.parse(again.stdout.text) as Report).checks.find(({ check }) => check === 'token');
    expect(sandbox.stats.tokenRequests).toBe(1);
    expect(token?.detail).toMatch(/^in the state, expires at .*, 1 of 30 requests in the last hour$/);
  });

  test('--online with wrong credentials is broken after one request, and stays so without another', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    const wrong = { ...env, PARTNER_CLIENT_SECRET: 'not-the-secret' };
    const { code, report, root, stdout, stderr } = await diagnose(wrong, ['--online']);
    expect([code, stateOf(report, 'online')]).toEqual([1, 'broken']);
    expect(stdout.text + stderr.text).not.toContain('not-the-secret');
    const again = await run(['doctor', '--online', '--json'], {
      env: wrong,
      cwd: root,
      packageRoot: root,
      nowMs: NOW + 1000,
    });
    const token = (JSON.parse(again.stdout.text) as Report).checks.find(({ check }) => check === 'token');
    expect(sandbox.stats.tokenRequests).toBe(1);
    expect(token).toMatchObject({ state: 'broken', fix: expect.stringContaining('PARTNER_CLIENT_SECRET') });
  });

  test('a Postgres that cannot be reached is broken, with a fix and without its password', async () => {
    const env = { PARTNER_ETL_POSTGRES_URL: 'postgres://etl:pw-pw-pw@127.0.0.1:1/none' };
    const { report, stdout, stderr } = await diagnose(env);
    expect(report.checks.find(({ check }) => check === 'postgres')).toMatchObject({
      state: 'broken',
      fix: expect.any(String),
    });
    expect(stdout.text + stderr.text).not.toContain('pw-pw-pw');
  });

  test('settings that cannot be read are exit code 2, also as JSON', async () => {
    const { code, report, stderr } = await diagnose({}, [], 'guards: 5\n');
    expect(code).toBe(2);
    expect(report.healthy).toBe(false);
    expect(report.checks.at(-1)).toMatchObject({
      check: 'settings',
      detail: expect.stringContaining('config/local.yaml:1'),
    });
    expect(stderr.text).toContain('config/local.yaml:1');
  });

  test('people get a line for each check, and the fix below what is broken', async () => {
    const root = await place();
    const { stdout } = await run(['doctor'], { cwd: root, packageRoot: root });
    expect(stdout.lines).toContainEqual(expect.stringMatching(/^ok +node +Node \d/));
    const at = stdout.lines.findIndex((line) => line.startsWith('broken'));
    expect(stdout.lines[at]).toContain('PARTNER_BASE_URL, PARTNER_AUTH_URL');
    expect(stdout.lines[at + 1]).toMatch(/^ +fix: set what is missing/);
    expect(stdout.lines.at(-1)).toBe('1 broken.');
  });

  test('an area with a pair of its own is named, and holds the others back in nothing', async () => {
    const { env, sandbox } = await sandboxEnvironment();
    const local = 'service:\n  retailer:\n    credentials: shop\n';
    const { report } = await diagnose(env, ['--online'], local);
    const { detail } = report.checks.find(({ check }) => check === 'credentials')!;
    expect(detail).toMatch(
      /^reports, catalog: client .*; retailer: PARTNER_SHOP_CLIENT_ID, PARTNER_SHOP_CLIENT_SECRET/,
    );
    expect(stateOf(report, 'credentials')).toBe('broken');
    expect(stateOf(report, 'online')).toBe('ok');
    const shop = { PARTNER_SHOP_CLIENT_ID: 'shop', PARTNER_SHOP_CLIENT_SECRET: 'wrong-wrong' };
    const second = await diagnose({ ...env, ...shop }, ['--online'], local);
    const online = second.report.checks.find(({ check }) => check === 'online');
    expect(online?.state).toBe('broken');
    expect(online?.detail).toMatch(/^client .*: a token was granted.*; client shop at .*refused the credentials/);
    expect(sandbox.stats.tokenRequests).toBe(3);
  });

  test('an EAN file that is not there is broken', async () => {
    const { report } = await diagnose({}, [], 'eans:\n  file: nowhere.csv\n');
    const eans = report.checks.find(({ check }) => check === 'eans');
    expect(eans).toMatchObject({
      state: 'broken',
      detail: expect.stringMatching(/nowhere\.csv cannot be read \(ENOENT\)$/),
    });
    const neither = await diagnose({}, [], 'eans:\n  query: null\n');
    expect(stateOf(neither.report, 'eans')).toBe('warning');
  });

  test('a home directory that cannot be made is broken', async () => {
    // A file where a folder is wanted: refused for every user, root included.
    const root = await place();
    const env = { PARTNER_ETL_HOME: 'config/default.yaml' };
    const { stdout, code } = await run(['doctor', '--json'], { env, cwd: root, packageRoot: root });
    expect(code).toBe(1);
    expect(stateOf(JSON.parse(stdout.text) as Report, 'home')).toBe('broken');
  });
});

describe('single findings', () => {
  test.each([
    ['18.20.0', 'broken'],
    ['20.18.9', 'broken'],
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
  ])('Node %s is %s', (version, state) => {
    expect(checkNode(version).state).toBe(state);
  });

  test('the floor is the one that package.json names', async () => {
    const { engines } = JSON.parse(await readFile(path.join(REPOSITORY, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    expect(`${engines.node}.0`).toBe(`>=${NODE_FLOOR}`);
  });

  test.each([
    [100, 'broken'],
    [1000, 'warning'],
    [10_000, 'ok'],
  ])('%i MiB free are %s', (freeMiB, state) => {
    expect(judgeDisk(freeMiB).state).toBe(state);
  });

  const closed: TokenState = {
    expiresAt: null,
    circuit: 'closed',
    refusal: null,
    said: null,
    notBefore: null,
    requestsLastHour: 0,
    mostPerHour: 30,
  };
  test.each<[string, Partial<TokenState>, string]>([
    ['no token yet', {}, 'ok'],
    ['a token on disk', { expiresAt: '2026-03-01T08:04:59.000Z' }, 'ok'],
    ['all requests of the hour made', { requestsLastHour: 30 }, 'warning'],
    [
      'an open circuit',
      { circuit: 'open', refusal: 'address_banned', notBefore: '2026-03-01T09:00:00.000Z' },
      'broken',
    ],
    ['a half-open circuit', { circuit: 'half-open', refusal: 'credentials_refused' }, 'warning'],
  ])('%s: %j is %s', (_, state, verdict) => {
    expect(judgeToken({ ...closed, ...state }).state).toBe(verdict);
  });
});
