/** `subscriptions` as it is typed, against the sandbox: what a person reads, what a program reads, and how it ends. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { fileLocks } from '../../../src/store/sqlite/locks.ts';
import { lastRuns } from '../../../src/store/tables/runs.ts';
import { answer, ScriptedService } from '../../partner/scripted-service.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { TextWriter } from '../surroundings.ts';
import { typedIn } from '../typed.ts';

const OURS = 'https://etl.example.com/push';
const OTHER = 'https://etl.example.com/other';

let world: World;
beforeAll(async () => {
  world = await openWorld({ sandbox: { processSeconds: 2 } });
});
/** Subscriptions that were made before the test. */
let made = 0;
afterEach(async () => {
  world.sandbox.clearFaults();
  const { 'subscription-create': now = 0 } = calls();
  if (now === made) return;
  made = now;
  const { subscriptions } = JSON.parse((await typed(['list', '--json'])).out) as { subscriptions: { id: string }[] };
  for (const { id } of subscriptions) await typed(['delete', id]);
});
afterAll(() => world.close());

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
}

/** `partner-etl subscriptions <words>`, and how many calls of each endpoint it made. */
async function typed(words: readonly string[], { env = {}, words: globals = [] }: Options = {}) {
  // A terminal is not shown every call, as a log file is.
  const [stdout, stderr] = [new TextWriter(), new TextWriter({ isTTY: true, columns: 200 })];
  const before = calls();
  const { code } = await typedIn(world, [...globals, 'subscriptions', ...words], { env, stdout, stderr });
  const made = Object.entries(calls()).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  const asked = Object.fromEntries(made.filter(([name, count]) => name !== 'token' && count > 0));
  return { code, out: stdout.text, err: stderr.text, asked };
}

const calls = (): Record<string, number> => ({ ...world.sandbox.stats.calls });
const rows = (text: string) => text.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));

/** Subscribes the address and returns the id. */
async function subscribed(url = OURS, resources = 'PROCESS_STATUS'): Promise<string> {
  const { out } = await typed(['create', url, '--resources', resources]);
  return /^subscription (\d+): /.exec(out)![1]!;
}

const listed = async () => rows((await typed(['list'])).out).slice(2, -1);

describe('create', () => {
  it('waits for the end and tells the id, the list and the address', async () => {
    const { code, out, err, asked } = await typed(['create', OURS, '--resources', 'shipment,PROCESS_STATUS']);
    expect(code).toBe(0);
    expect(out).toMatch(/^subscription \d+: SHIPMENT, PROCESS_STATUS to https:\/\/etl\.example\.com\/push\n$/);
    expect(err).toMatch(/^process (\d+) is under way; to wait for it again: partner-etl subscriptions wait \1\n$/);
    expect(asked).toEqual({ 'subscription-list': 1, 'subscription-create': 1, 'process-status': 3 });
  });

  it('--json: one document', async () => {
    const { code, out, err } = await typed(['create', OURS, '--resources', 'SHIPMENT', '--json']);
    expect([code, err]).toEqual([0, expect.stringContaining('is under way')]);
    const { subscription, process, error } = JSON.parse(out);
    expect(subscription).toEqual({ id: process.entityId, url: OURS, resources: ['SHIPMENT'] });
    expect(process).toMatchObject({ eventType: 'CREATE_SUBSCRIPTION', status: 'SUCCESS', errorMessage: null });
    expect(error).toBeNull();
  });

  it('--no-wait prints the process, which can be waited for later', async () => {
    const { code, out, asked } = await typed(['create', OURS, '--resources', 'SHIPMENT', '--no-wait']);
    expect([code, asked['process-status']]).toEqual([0, undefined]);
    expect(out).toMatch(/^\d+\n$/);
    const later = await typed(['wait', out.trim()]);
    expect(later.code).toBe(0);
    expect(later.out).toMatch(new RegExp(`^process ${out.trim()} \\(CREATE_SUBSCRIPTION\\): SUCCESS, about \\d+\n$`));
    expect(await listed()).toHaveLength(1);
  });

  it('--quiet says nothing besides', async () => {
    expect((await typed(['create', OURS, '--resources', 'SHIPMENT'], { words: ['--quiet'] })).err).toBe('');
  });

  it('refuses an address that has a subscription, and names it and the command', async () => {
    const id = await subscribed();
    const { code, out, err, asked } = await typed(['create', OURS, '--resources', 'PROCESS_STATUS,SHIPMENT']);
    expect({ code, out, asked }).toEqual({ code: 2, out: '', asked: { 'subscription-list': 1 } });
    expect(err).toContain(`has a subscription already: ${id}`);
    expect(err).toContain(`partner-etl subscriptions update ${id} --add SHIPMENT`);
  });

  test.each([
    [{ status: 'FAILURE', errorMessage: 'the host is unknown' }, 'failed: the host is unknown'],
    [{ status: 'TIMEOUT' }, 'took the service too long (TIMEOUT)'],
  ] as const)('a process that ends as %j is an error', async (end, words) => {
    for (const more of [[], ['--json']]) {
      world.sandbox.change({ kind: 'next-process', ...end });
      const { code, out, err } = await typed(['create', OURS, '--resources', 'SHIPMENT', ...more]);
      expect(code).toBe(1);
      expect(err).toContain(words);
      const said = more.length === 0 ? null : JSON.parse(out);
      expect(said?.process.status ?? end.status).toBe(end.status);
      expect(said?.error.code ?? null).toBe(said && `process_${end.status.toLowerCase()}`.replace('failure', 'failed'));
    }
  });

  it('that is still pending when the time is over ends with 1, and is taken up again', async () => {
    const { code, err } = await typed(['create', OURS, '--resources', 'SHIPMENT', '--timeout', '1']);
    expect(code).toBe(1);
    const [, again = ''] = /fix: go on waiting with: partner-etl subscriptions wait (\d+)\n/.exec(err) ?? [];
    expect(await typed(['wait', again, '--json'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('"SUCCESS"'),
    });
  });

  it('whose answer is lost is not sent again, and how to find out is said', async () => {
    world.sandbox.addFault({ endpoint: 'subscription-create', kind: 'reset' });
    const { code, err, asked } = await typed(['create', OURS, '--resources', 'SHIPMENT']);
    expect([code, asked['subscription-create']]).toEqual([1, 1]);
    expect(err).toContain('may have been carried out');
    expect(err).toContain('fix: find out before it is sent again: partner-etl subscriptions list');
  });
});

describe('update', () => {
  it('--add and --remove send the full list and print it', async () => {
    const id = await subscribed();
    const added = await typed(['update', id, '--add', 'shipment']);
    expect([added.code, added.out]).toEqual([0, `subscription ${id}: PROCESS_STATUS, SHIPMENT to ${OURS}\n`]);
    expect(await listed()).toEqual([`${id} | PROCESS_STATUS, SHIPMENT | ${OURS}`]);
    const removed = await typed(['update', id, '--remove', 'PROCESS_STATUS', '--json']);
    expect(JSON.parse(removed.out)).toMatchObject({
      subscription: { id, url: OURS, resources: ['SHIPMENT'] },
      process: { eventType: 'UPDATE_SUBSCRIPTION', status: 'SUCCESS' },
    });
    expect(await listed()).toEqual([`${id} | SHIPMENT | ${OURS}`]);
  });

  it('--url and --resources replace', async () => {
    const id = await subscribed();
    await typed(['update', id, '--url', OTHER, '--resources', 'SHIPMENT']);
    expect(await listed()).toEqual([`${id} | SHIPMENT | ${OTHER}`]);
  });

  it('with nothing to change sends nothing', async () => {
    const id = await subscribed();
    const { code, out, asked } = await typed(['update', id, '--add', 'PROCESS_STATUS']);
    expect({ code, asked }).toEqual({ code: 0, asked: { 'subscription-list': 1 } });
    expect(out).toBe(`nothing to change, nothing was sent; subscription ${id}: PROCESS_STATUS to ${OURS}\n`);
  });

  it('to an empty list is refused, and deleting is named', async () => {
    const id = await subscribed();
    const { code, err, asked } = await typed(['update', id, '--remove', 'PROCESS_STATUS']);
    expect([code, asked['subscription-update']]).toEqual([2, undefined]);
    expect(err).toContain(`partner-etl subscriptions delete ${id}`);
  });

  it('of one that is not there names those that are', async () => {
    const id = await subscribed();
    const { code, err } = await typed(['update', '77', '--add', 'SHIPMENT']);
    expect(code).toBe(1);
    expect(err).toContain(`there is no subscription 77\n  fix: there is ${id}`);
  });
});

describe('delete', () => {
  it('removes, and says so', async () => {
    const id = await subscribed();
    const { code, out } = await typed(['delete', id]);
    expect({ code, out }).toEqual({ code: 0, out: `subscription ${id} is removed\n` });
    expect(await typed(['list'])).toMatchObject({ code: 0, out: 'there are no subscriptions\n' });
  });

  it('of one that is gone says so', async () => {
    const { code, err } = await typed(['delete', '5']);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('there is no subscription 5\n  fix: there are none at all'),
    ]);
  });
});

describe('test', () => {
  it('where the service tests all of them at once says so', async () => {
    const id = await subscribed();
    const { code, out, err } = await typed(['test', id]);
    expect([code, out]).toEqual([0, 'a test message was sent for every subscription\n']);
    expect(err).toMatch(/^this version of the interface tests every subscription at once\nprocess \d+ is under way/);
  });

  it('where there is none says so', async () => {
    const { code, err } = await typed(['test']);
    expect([code, err]).toEqual([1, expect.stringContaining('there is no subscription to test')]);
  });
});

describe('get and list', () => {
  it('show a table', async () => {
    const [a, b] = [await subscribed(), await subscribed(OTHER, 'SHIPMENT')];
    expect(rows((await typed(['list'])).out)).toEqual([
      'id | resources | url',
      expect.stringMatching(/^─/),
      `${a} | PROCESS_STATUS | ${OURS}`,
      `${b} | SHIPMENT | ${OTHER}`,
      '',
    ]);
    expect(rows((await typed(['get', b])).out)).toContain(`${b} | SHIPMENT | ${OTHER}`);
  });

  it('--json: as the service tells it, ids as text', async () => {
    const id = await subscribed();
    const subscription = { id, url: OURS, resources: ['PROCESS_STATUS'] };
    expect(JSON.parse((await typed(['list', '--json'])).out)).toEqual({ subscriptions: [subscription] });
    expect(JSON.parse((await typed(['get', id, '--json'])).out)).toEqual({ subscription });
  });
});

describe('keys', () => {
  it('show size and fingerprint', async () => {
    const { code, out, asked } = await typed(['keys', '--json']);
    expect([code, asked]).toEqual([0, { 'signature-keys': 1 }]);
    const { keys } = JSON.parse(out) as { keys: { id: string; publicKey: string; sha256: string; bits: number }[] };
    const [{ id, publicKey, sha256, bits } = { id: '', publicKey: '', sha256: '', bits: 0 }] = keys;
    expect(sha256).toBe(createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex'));
    expect(rows((await typed(['keys'])).out)[2]).toBe(`${id} | RSA | ${bits} | ${sha256}`);
  });
});

describe('wrong usage ends with 2 before anything is sent', () => {
  test.each<[string[], string]>([
    [['create', 'http://etl.example.com', '--resources', 'SHIPMENT'], 'is no https address'],
    [['create', OURS, '--resources', 'ORDERS'], 'accepted are PROCESS_STATUS and SHIPMENT'],
    [['create', OURS, '--resources', ','], 'no resource is named'],
    [['create', OURS], "required option '--resources <names>'"],
    [['update', '5001'], 'name --url, --resources, --add or --remove'],
    [['update', '5001', '--resources', 'SHIPMENT', '--add', 'SHIPMENT'], 'names the whole list'],
    [['update', '5001', '--add', 'SHIPMENT', '--remove', 'SHIPMENT'], 'added and removed'],
    [['get', '..'], 'cannot be an id'],
    [['delete', ''], 'cannot be an id'],
    [['wait', ' '], 'cannot be an id'],
    [['wait', '1', '--timeout', '0'], 'A whole number from 1'],
    [['revoke', '1'], "unknown command 'revoke'"],
  ])('%j', async (words, part) => {
    const { code, out, err, asked } = await typed(words);
    expect({ code, out, asked }).toEqual({ code: 2, out: '', asked: {} });
    expect(err).toContain(part);
  });

  it('missing credentials are named', async () => {
    const { code, err, asked } = await typed(['list'], { env: { PARTNER_CLIENT_SECRET: '' } });
    expect({ code, asked }).toEqual({ code: 2, asked: {} });
    expect(err).toContain('PARTNER_CLIENT_SECRET');
  });
});

describe('beside a night', () => {
  it('nothing waits for its lock, and no run is recorded; process statuses lie in the raw store', async () => {
    const lock = await fileLocks(path.join(world.home, 'locks'), world.clock).tryLock('run', 'run');
    await subscribed();
    await lock?.release();
    expect(await world.within(({ state }) => lastRuns(state.db, 1))).toEqual([]);
    expect(await readdir(path.join(world.home, 'raw'))).toEqual(['process-statuses']);
  });
});

describe('what the service makes up', () => {
  const HOSTILE = '\u001b]0;owned\u0007\u009b31m\u202e';
  const hostile = { id: `1${HOSTILE}`, url: `https://x/${HOSTILE}`, resources: [HOSTILE], [HOSTILE]: HOSTILE };
  let service: ScriptedService;
  let env: Record<string, string>;
  beforeEach(async () => {
    service = await ScriptedService.start(() => world.clock.now());
    env = { PARTNER_BASE_URL: service.origin, PARTNER_AUTH_URL: `${service.origin}/auth`, PARTNER_CLIENT_ID: 'other' };
  });
  afterEach(() => service.close());
  const answers = (...bodies: readonly unknown[]) =>
    service.answers.push(...bodies.map((body) => answer(200, JSON.stringify(body))));

  test.each<[string[], readonly unknown[]]>([
    [['list'], [{ subscriptions: [hostile] }]],
    [['get', '1'], [hostile]],
    [['keys'], [{ signatureKeys: [{ id: HOSTILE, type: HOSTILE, publicKey: HOSTILE }] }]],
    [['wait', '1'], [{ id: 1, status: 'SUCCESS', eventType: HOSTILE, entityId: HOSTILE }]],
    [['wait', '1'], [{ id: 1, status: 'FAILURE', errorMessage: HOSTILE }]],
    [['create', OURS, '--resources', 'SHIPMENT'], [{ subscriptions: [{ ...hostile, url: OURS }] }]],
    [
      ['create', OURS, '--resources', 'SHIPMENT', '--timeout', '1'],
      [{ subscriptions: [] }, { id: HOSTILE, status: 'PENDING' }],
    ],
    [['update', '1', '--add', 'SHIPMENT'], [{ subscriptions: [hostile] }]],
  ])('%j lets no control character through', async (words, bodies) => {
    for (const more of [[], ['--json']]) {
      answers(...bodies);
      const { out, err } = await typed([...words, ...more], { env });
      expect(out + err).not.toBe('');
      expect((out + err).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });

  it('and what it echoes of a secret is not shown', async () => {
    const { clientSecret } = world.sandbox;
    for (const more of [[], ['--json']]) {
      answers({ subscriptions: [{ id: 1, url: `https://x/${clientSecret}`, [`a ${clientSecret}`]: clientSecret }] });
      const { out } = await typed(['list', ...more], { env });
      expect(out).toContain('[redacted]');
      expect(out).not.toContain(clientSecret);
    }
  });

  it('a refusal is said in its words', async () => {
    const violations = [{ name: 'url', reason: `is not reachable${HOSTILE}` }];
    answers({ subscriptions: [] });
    service.answers.push(answer(400, JSON.stringify({ title: 'Bad Request', violations })));
    const { code, out, err } = await typed(['create', OURS, '--resources', 'SHIPMENT'], { env });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('the service refuses to create it (400): Bad Request; url: is not reachable');
    expect(err.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('a broken key is shown as broken, beside the others', async () => {
    answers({ signatureKeys: [{ id: '0', type: 'RSA', publicKey: 'AAAA' }, 'x'] });
    const { code, out } = await typed(['keys'], { env });
    expect(code).toBe(0);
    expect(rows(out).slice(2)).toEqual([
      '0 | RSA | broken: it is no Base64 of an X.509 public key',
      'broken: it is no Base64 of an X.509 public key',
      '',
    ]);
  });

  it('--json keeps every digit of what is unknown', async () => {
    service.answers.push(answer(200, '{"id":7,"url":null,"resources":[],"quota":12345678901234567890.10}'));
    expect((await typed(['get', '7', '--json'], { env })).out).toContain('"quota": 12345678901234567890.10');
  });
});
