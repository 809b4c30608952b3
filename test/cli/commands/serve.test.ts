import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { CliContext } from '../../../src/cli/context.ts';
import { Interrupt } from '../../../src/cli/interrupt.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { EXIT } from '../../../src/core/errors.ts';
import { rsaKey } from '../../../src/sandbox/keys.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { runsSince } from '../../../src/store/tables/runs.ts';
import { FakeClock } from '../../support/clock.ts';
import { waitingAt } from '../../support/inbox.ts';
import { packageRoot } from '../../support/nights.ts';
import { listedKey, messageText, signed } from '../../support/push.ts';
import { withState } from '../../support/state.ts';
import { run, TextWriter } from '../surroundings.ts';

type Environment = Readonly<Record<string, string>>;

interface Serving {
  readonly stdout: TextWriter;
  readonly stderr: TextWriter;
  readonly interrupt: Interrupt;
  readonly ended: Promise<number>;
}

/** A home with the settings of a receiver, and of what tells of its health, on any free port. */
async function home(push: object = {}, serve: object = {}): Promise<Environment> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-serve-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const settings = path.join(folder, 'settings.yaml');
  await writeFile(settings, stringify({ push: { port: 0, ...push }, serve: { port: 0, ...serve } }));
  return { PARTNER_ETL_HOME: folder, PARTNER_ETL_CONFIG: settings };
}

async function withService(env: Environment, clock: Clock = systemClock): Promise<Environment> {
  const sandbox = await startSandbox({ seed: 1, ordersPerDay: 50, now: () => clock.now() });
  onTestFinished(() => sandbox.close());
  return {
    ...env,
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET: sandbox.clientSecret,
  };
}

function typed(words: readonly string[], env: Environment, clock: Clock = systemClock): Serving {
  const [stdout, stderr] = [new TextWriter(), new TextWriter()];
  const interrupt = new Interrupt({ say: (text) => context.screen.print(text), exit: () => undefined });
  const around = { env, cwd: '/nowhere', packageRoot, version: '1.2.3', clock, interrupt };
  const context = new CliContext({ ...around, stdout, stderr });
  return { stdout, stderr, interrupt, ended: runProgram(words, context) };
}

/** What it has printed on that writer once that fits the pattern, or how it ended before. */
function printed(writer: TextWriter, pattern: RegExp, { ended }: Serving): Promise<string> {
  const fitting = new Promise<string>((resolve) => {
    const write = writer.write.bind(writer);
    writer.write = (text) => {
      write(text);
      if (pattern.test(writer.text)) resolve(writer.text);
    };
  });
  return Promise.race([fitting, ended.then((code) => `ended with ${code}`)]);
}

async function serviceMessage(): Promise<{ readonly body: string; readonly signature: string }> {
  const { privateKey, publicKey } = await rsaKey();
  const body = messageText({ timestamp: new Date(systemClock.now()).toISOString() });
  return { body, signature: signed(body, { id: '0', privateKey, listed: listedKey('0', publicKey) }) };
}

describe('serve', () => {
  test('prints where it listens, takes a message of the service, and ends in good order on Ctrl-C', async () => {
    const env = await withService(await home());
    const serving = typed(['serve', '--json'], env);
    const { url } = JSON.parse(await printed(serving.stdout, /\}\n$/, serving)) as { url: string };
    const { body, signature } = await serviceMessage();
    const answer = await fetch(url, { method: 'POST', headers: { signature }, body });
    expect(answer.status).toBe(204);
    serving.interrupt.press('SIGTERM');
    expect(await serving.ended).toBe(EXIT.done);
    expect(await waitingAt(env.PARTNER_ETL_HOME!)).toHaveLength(1);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('is found by doctor --online while it is at work, and missed after that', async () => {
    // The pauses between the calls that doctor makes pass at once.
    const clock = new FakeClock(systemClock.now()).passUpTo(2000);
    const env = await withService(await home(), clock);
    const serving = typed(['serve', '--json'], env);
    await printed(serving.stdout, /\}\n$/, serving);
    const answers = async () => {
      const { stdout, ended } = typed(['doctor', '--online', '--json'], env, clock);
      await ended;
      const { checks } = JSON.parse(stdout.text) as { checks: { check: string; state: string; detail: string }[] };
      const found = checks.find(({ check }) => check === 'receiver answers');
      return `${found?.state}: ${found?.detail.replace(/\d{4,5}/, 'PORT')}`;
    };
    expect(await answers()).toBe('ok: http://127.0.0.1:PORT/push is our receiver, which refuses an unsigned message');
    serving.interrupt.press('SIGTERM');
    expect(await serving.ended).toBe(EXIT.done);
    expect(await answers()).toBe('warning: no receiver is at work here');
  });

  test('without --json says it on stderr; without credentials it runs, and messages are to be sent again', async () => {
    const serving = typed(['serve'], await home());
    const text = await printed(serving.stderr, /listening/, serving);
    const [, url = ''] = /^listening on (http:\/\/127\.0\.0\.1:\d+\/push)$/m.exec(text) ?? [];
    const { body, signature } = await serviceMessage();
    const answer = await fetch(url, { method: 'POST', headers: { signature }, body });
    expect(answer.status).toBe(503);
    serving.interrupt.press('SIGINT');
    expect(await serving.ended).toBe(EXIT.done);
    expect(serving.stderr.text).toContain('the signature keys cannot be fetched');
    expect(serving.stdout.text).toBe('');
  });

  test('a second one learns who receives already, and since when', async () => {
    const env = await home();
    const first = typed(['serve', '--json'], env);
    await printed(first.stdout, /url/, first);
    const second = typed(['serve'], env);
    expect(await second.ended).toBe(EXIT.locked);
    expect(second.stderr.text).toMatch(/another receiver is at work: "serve" \(process \d+ on .*\), since 20/);
    first.interrupt.press('SIGINT');
    expect(await first.ended).toBe(EXIT.done);
    const third = typed(['serve', '--json'], env);
    expect(await printed(third.stdout, /url/, third)).toContain('"url"');
    third.interrupt.press('SIGINT');
    expect(await third.ended).toBe(EXIT.done);
  });

  test('without the receiver it schedules alone, and says so', async () => {
    const env = await home({ enabled: false });
    const serving = typed(['serve', '--json'], env);
    const ready = JSON.parse(await printed(serving.stdout, /\}\n$/, serving)) as { url: null; health: string };
    expect(ready.url).toBeNull();
    const answer = await fetch(ready.health);
    expect([answer.status, await answer.json()]).toMatchObject([200, { ready: true, receiving: null }]);
    const page = await fetch(new URL('/', ready.health));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('partner-etl')]);
    const metrics = await (await fetch(new URL('/metrics', ready.health))).text();
    expect(metrics).toContain('partner_etl_build_info{version="1.2.3"} 1');
    expect(metrics).toMatch(/^partner_etl_next_due_timestamp_seconds\{pipeline="orders"\} \d+$/m);
    const second = typed(['serve'], env);
    expect(await second.ended).toBe(EXIT.locked);
    expect(second.stderr.text).toMatch(/another scheduler is at work: "serve"/);
    const { stdout } = await run(['status', '--json'], { env });
    const { pipelines } = JSON.parse(stdout.text) as { pipelines: { pipeline: string; schedule: unknown }[] };
    expect(pipelines.find(({ pipeline }) => pipeline === 'orders')?.schedule).toEqual({
      next_due_at: expect.stringMatching(/T0[34]:30:00/),
      last: null,
    });
    expect((await run(['status'], { env })).stdout.text).toMatch(/next due +last due +started +result/);
    serving.interrupt.press('SIGTERM');
    expect(await serving.ended).toBe(EXIT.done);
  });

  test('without both there is nothing to serve', async () => {
    const { code, stderr } = await run(['serve'], { env: await home({ enabled: false }, { schedule: false }) });
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain('set serve.schedule or push.enabled to true');
  });

  test('what was pushed is only run where something was', async () => {
    const env = await home();
    const names = ['push-messages', 'process-statuses', 'push-links'];
    const { code, stdout } = await run(['run', ...names, '--if-due', '--json'], { env });
    expect([code, JSON.parse(stdout.text)]).toEqual([EXIT.done, { nothing_due: true }]);
    expect(await withState(env.PARTNER_ETL_HOME!, ({ db }) => runsSince(db, null))).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['with a certificate that is not there', { tls: { certFile: 'no.crt', keyFile: 'no.key' } }, 'let a proxy end TLS'],
    ['on an address that this machine has not', { host: '192.0.2.1' }, 'push.host'],
  ])('a receiver %s is wrong usage, with the fix', async (_, push, fix) => {
    const { code, stderr } = await run(['serve'], { env: await home(push) });
    expect(code).toBe(EXIT.usage);
    expect(stderr.text).toContain(fix);
  });
});
