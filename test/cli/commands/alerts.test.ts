import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config.ts';
import { EXIT } from '../../../src/core/errors.ts';
import { openMailServer, openWebhook, remembered, sent, type Webhook } from '../../support/alerts.ts';
import { packageRoot } from '../../support/nights.ts';
import { run } from '../surroundings.ts';

let home: string;
let hook: Webhook;
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'etl-alerts-cli-'));
  hook = await openWebhook();
});
afterEach(async () => {
  await hook.close();
  await rm(home, { recursive: true, force: true });
});

type Environment = Readonly<Record<string, string>>;

async function environment(alerts: object = {}, env: Environment = {}): Promise<Environment> {
  const settings = path.join(home, 'settings.yaml');
  await writeFile(settings, stringify({ alerts }));
  return { PARTNER_ETL_HOME: home, PARTNER_ETL_CONFIG: settings, PARTNER_ETL_ALERT_URL: hook.url, ...env };
}

const settingsOf = (env: Environment) => loadConfig({ env, cwd: home, packageRoot });

describe('run', () => {
  test('that cannot begin tells so, once, and ends as it would without alerts', async () => {
    const env = await environment();
    for (let i = 0; i < 2; i++) expect((await run(['run', 'orders', 'commissions'], { env })).code).toBe(EXIT.usage);
    expect(sent(hook)).toEqual(['firing run/commissions+orders:new']);
    expect(hook.bodies[0]).toContain('could not begin (no_credentials)');
  });

  test('of a pipeline that there is not tells nobody but who typed it', async () => {
    expect((await run(['run', 'ordres'], { env: await environment() })).code).toBe(EXIT.usage);
    expect(hook.asked).toBe(0);
  });

  test('ends as it would when nobody takes the message', async () => {
    hook.status = null;
    const { code, stderr } = await run(['run', 'orders'], { env: await environment() });
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain(
      'webhook default: the message was not taken: UND_ERR_SOCKET; it is tried again later',
    );
    expect(stderr.text).not.toContain('very-secret-part');
  });

  test('without a channel remembers nothing', async () => {
    const { PARTNER_ETL_ALERT_URL: _, ...env } = await environment();
    await run(['run', 'orders'], { env });
    expect(await remembered(home)).toBeNull();
  });

  test('keeps no secret of a channel with what was said', async () => {
    await run(['run', 'orders'], { env: await environment() });
    const text = await remembered(home);
    expect(text).toContain('no_credentials');
    expect(text).not.toMatch(/very-secret-part|127\.0\.0\.1/);
  });
});

describe('doctor --alert', () => {
  const checks = async (env: Environment, words = ['--alert']) => {
    const { stdout } = await run(['doctor', '--json', ...words], { env });
    const report = JSON.parse(stdout.text) as {
      checks: { check: string; state: string; detail: string; fix: string }[];
    };
    return report.checks.filter(({ check }) => /alert|webhook|mail/.test(check));
  };

  test('sends a test through every channel and says of each what came back', async () => {
    const [slack, mail] = [await openWebhook(), await openMailServer()];
    onTestFinished(async () => {
      await slack.close();
      await mail.close();
    });
    slack.status = 404;
    const to = { host: '127.0.0.1', port: mail.port, from: 'etl@example.com', to: ['me@example.com'], user: 'etl' };
    const env = await environment(
      { title: 'shop', mail: to },
      { PARTNER_ETL_ALERT_SLACK_URL: slack.url, PARTNER_ETL_SMTP_PASSWORD: 'a-password' },
    );
    expect(await checks(env)).toEqual([
      { check: 'webhook default', state: 'ok', detail: 'a test was sent: answered 200', fix: null },
      {
        check: 'webhook slack',
        state: 'broken',
        detail: 'webhook slack: the message was not taken: it answered 404',
        fix: expect.stringContaining('PARTNER_ETL_ALERT_SLACK_URL'),
      },
      { check: 'mail', state: 'ok', detail: 'a test was sent: accepted for 1', fix: null },
    ]);
    expect(JSON.parse(hook.bodies[0]!)).toMatchObject({ title: 'shop', status: 'test', causes: [] });
    expect(mail.mails[0]).toContain('Subject: [shop] test');
  });

  test('without a channel says how to set one up; without --alert nothing is sent', async () => {
    const { PARTNER_ETL_ALERT_URL: _, ...none } = await environment();
    expect(await checks(none)).toMatchObject([
      { state: 'warning', fix: expect.stringContaining('PARTNER_ETL_ALERT_URL') },
    ]);
    expect(await checks(await environment(), [])).toMatchObject([
      { state: 'ok', detail: expect.stringMatching(/^webhook default;/) },
    ]);
    expect(hook.asked).toBe(0);
  });
});

describe('settings', () => {
  test('addresses and the password come from the environment or a file, and are secrets wherever they stand', async () => {
    await mkdir(home, { recursive: true });
    const file = path.join(home, 'slack-url');
    await writeFile(file, `${hook.url}\n`, { mode: 0o600 });
    const mail = { host: 'mail.example.com', from: 'a@example.com', to: ['b@example.com'] };
    const { PARTNER_ETL_ALERT_URL: _, ...env } = await environment(
      { webhooks: [{ name: 'on-call', kind: 'slack' }], mail },
      { PARTNER_ETL_ALERT_ON_CALL_URL_FILE: file, PARTNER_ETL_SMTP_PASSWORD: 'a-password' },
    );
    const { alerts, warnings } = await settingsOf(env);
    expect(alerts.webhooks).toEqual([
      { name: 'on-call', kind: 'slack', variable: 'PARTNER_ETL_ALERT_ON_CALL_URL', url: hook.url },
    ]);
    expect(alerts.mail).toMatchObject({ password: 'a-password' });
    expect(warnings).toEqual([]);
    const { stderr } = await run(['run', 'orders'], {
      env: { ...env, PARTNER_CLIENT_ID: `x ${new URL(hook.url).pathname}` },
    });
    expect(stderr.text).not.toContain('very-secret-part');
  });

  test.each<[string, object, Environment, string]>([
    [
      'an address that is none',
      {},
      { PARTNER_ETL_ALERT_URL: 'ftp://secret-host/x' },
      'PARTNER_ETL_ALERT_URL: an address such as',
    ],
    ['a mail server without addresses', { mail: { host: 'm.example.com' } }, {}, 'alerts.mail'],
    [
      'a pipeline that there is not',
      { freshness: [{ pipeline: 'ordres', hours: 1 }] },
      {},
      'one of promotions, orders',
    ],
    [
      'a webhook named twice',
      {
        webhooks: [
          { name: 'a', kind: 'slack' },
          { name: 'a', kind: 'slack' },
        ],
      },
      {},
      'every webhook once',
    ],
  ])('%s is refused with the place and what is accepted', async (_, alerts, env, words) => {
    const { code, stderr } = await run(['status'], { env: await environment(alerts, env) });
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain(words);
    expect(stderr.text).not.toContain('secret-host');
  });
});
