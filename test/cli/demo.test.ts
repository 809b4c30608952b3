/** What `npm start` runs: the README promises that the same night again changes nothing, and that the commands it names work as they stand. */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CliContext } from '../../src/cli/context.ts';
import { Interrupt } from '../../src/cli/interrupt.ts';
import { runProgram } from '../../src/cli/program.ts';
import { addDays, dayAt } from '../../src/core/days.ts';
import { FakeClock } from '../support/clock.ts';
import { packageRoot } from '../support/nights.ts';
import { TextWriter } from './surroundings.ts';

/** Pauses of the budgets pass at once; timeouts are longer. */
const PASSING_MS = 5000;
const clock = new FakeClock().passUpTo(PASSING_MS);
const today = dayAt(clock.now(), 'Europe/Amsterdam');

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'etl-demo-'));
  // A package without config/local.yaml, whatever lies in the checkout.
  for (const part of ['config/default.yaml', 'sql', 'package.json'])
    await cp(path.join(packageRoot, part), path.join(cwd, 'package', part), { recursive: true });
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

async function typed(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onOut?: (text: string, end: () => void) => void,
) {
  const [stdout, stderr] = [new TextWriter(), new TextWriter()];
  const interrupt = new Interrupt({ say: () => undefined, exit: () => undefined });
  const write = stdout.write.bind(stdout);
  stdout.write = (text) => {
    write(text);
    onOut?.(stdout.text, () => interrupt.press('SIGINT'));
  };
  const around = { env, cwd, packageRoot: path.join(cwd, 'package'), version: '1.2.3', clock, interrupt };
  const code = await runProgram(words, new CliContext({ ...around, stdout, stderr }));
  return { code, out: stdout.text, err: stderr.text };
}

const demo = (...words: string[]) => typed(['demo', '--orders-per-day', '50', ...words]);
const IS_DEMO = /^There are neither settings nor credentials: this is the demo's data, data\/demo/;
const COUNT = ['sql', 'SELECT count(*) AS n FROM warehouse.fact_order_item'];

test('before there is a demo nothing is taken for one', async () => {
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  await rm(path.join(cwd, 'data'), { recursive: true, force: true });
});

test('the demo loads a night of every pipeline, and the same night again asks for nothing new and changes nothing', async () => {
  const first = await demo();
  expect(first.code).toBe(0);
  expect(first.out).toMatch(/ slices changed, [0-9]+ unchanged\nduckdb: [0-9]+ slices, /);
  expect(first.out).not.toContain('PARTNER_ETL_HOME');
  expect(first.out).toMatch(/The status page on this data: npm start -- --page\n$/);
  const second = await demo();
  expect(second.code).toBe(0);
  expect(second.out).toMatch(/: 0 slices changed, [0-9]+ unchanged\nduckdb: nothing to load\n/);
  expect(first.out + second.out).not.toContain('left out');
});

test.each([
  [['status']],
  [['explain', 'orders', 'yesterday']],
  [COUNT],
  [['ask', '1']],
  [['verify']],
  [['rejects']],
  [['plan']],
  [['docs', '--answers']],
])('%j works on the demo without settings, and says so in one line', async (words) => {
  const { code, out, err } = await typed(words);
  expect({ code, first: err.split('\n')[0] }).toEqual({ code: 0, first: expect.stringMatching(IS_DEMO) });
  expect(out).not.toBe('');
});

test('with any setting or credential of the installation, or data of its own, the demo is left alone', async () => {
  expect((await typed(['status'], { PARTNER_CLIENT_ID: 'mine' })).err).not.toMatch(IS_DEMO);
  expect((await typed(['status'], { PARTNER_ETL_HOME: path.join(cwd, 'other') })).err).not.toMatch(IS_DEMO);
  expect((await typed(['run', 'orders'])).code).toBe(2);
  await mkdir(path.join(cwd, 'data', 'runs'));
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  await rm(path.join(cwd, 'data', 'runs'), { recursive: true });
  const settings = path.join(cwd, 'package', 'config', 'local.yaml');
  await writeFile(settings, '{}');
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  await rm(settings);
});

test('goes on to a second day, from which the readers count; what is before it is refused', async () => {
  const tomorrow = addDays(today, 1);
  const night = await demo('--today', tomorrow);
  expect(night.code).toBe(0);
  expect(night.out).toMatch(/[1-9][0-9]* slices changed/);
  expect(night.out).toContain(`npm start -- --today ${addDays(today, 2)}`);
  const newest = JSON.parse(
    (await typed(['sql', 'SELECT CAST(max(order_date) AS VARCHAR) AS day FROM warehouse.fact_order_item', '--json']))
      .out,
  ) as unknown;
  expect(newest).toEqual([{ day: today }]);
  expect((JSON.parse((await typed(['status', '--json'])).out) as { today: string }).today).toBe(tomorrow);
  expect((await demo()).out).toMatch(/: 0 slices changed/);
  const before = await demo('--today', today);
  expect([before.code, before.err]).toEqual([2, expect.stringContaining(`the demo has come to ${tomorrow}`)]);
});

test('with --page it goes on to serve the page on that data, until Ctrl-C', async () => {
  let asked: Promise<string> | null = null;
  const onOut = (text: string, end: () => void) => {
    const url = /The status page of the demo: (\S+)/.exec(text)?.[1];
    if (url === undefined || asked) return;
    asked = fetch(url).then((answer) => answer.text());
    void asked.finally(end);
  };
  const { code } = await typed(['demo', '--orders-per-day', '50', '--page', '--port', '0'], {}, onOut);
  expect(code).toBe(0);
  expect(await asked).toMatch(/<h1[^>]*>/);
  expect(await asked).toContain(`orders ${today}`);
});
