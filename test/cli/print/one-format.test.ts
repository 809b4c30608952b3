/** What stands on stderr is all text or all JSON lines, and nothing is said twice. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../support/nights.ts';
import { fakeContext } from '../surroundings.ts';
import { typedIn } from '../typed.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ ordersPerDay: 30, lookbackDays: 2, windowDays: 2 });
  const header = ['severity: warn', 'about: nothing was sold', 'pipeline: orders', 'fix: fetch D again'];
  const select = 'SELECT order_date AS slice_day FROM warehouse.fact_order_item WHERE {on_days:order_date}';
  await mkdir(path.join(world.home, 'checks'));
  await writeFile(
    path.join(world.home, 'checks', 'mine.sql'),
    `${header.map((line) => `-- ${line}\n`).join('')}${select}`,
  );
  world.sandbox.addFault({ endpoint: 'commissions', kind: 'status', status: 400, times: 99 });
});
afterAll(() => world.close());

const linesOf = (text: string) => text.trimEnd().split('\n');
const isJson = (line: string) => line.startsWith('{');
const times = (text: string, what: RegExp) => text.match(new RegExp(what, 'g'))?.length ?? 0;

test('a run without a terminal says everything in text: progress, what checks found and what failed, each once', async () => {
  const { code, out, err } = await typedIn(world, ['run']);
  expect(code).toBe(1);
  expect(linesOf(err).filter(isJson)).toEqual([]);
  expect(err).toMatch(/^orders: 1 window to fetch$/m);
  const { from } = world.lookback();
  expect(times(out + err, new RegExp(`orders ${from}: check mine`))).toBe(1);
  expect(err).toContain(`  fix: fetch ${from} again\n`);
  expect(out).toMatch(/^checks warned of \d+ things: see the log/m);
  expect(err).toMatch(/^partner-etl: commissions /m);
  expect(err).not.toMatch(/^error: /m);
});

test('with --log json every line is a JSON object with level, time and message, also progress and what failed', async () => {
  world.clock.set(world.clock.now() + 60_000);
  const { code, err } = await typedIn(world, ['run', '--log', 'json']);
  expect(code).toBe(1);
  const lines = linesOf(err).map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const line of lines)
    expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String), message: expect.any(String) });
  expect(lines).toContainEqual(expect.objectContaining({ message: 'orders: 1 window to fetch', pipeline: 'orders' }));
  const failed = lines.filter(({ level }) => level === 'error');
  expect(failed.length).toBeGreaterThan(0);
  expect(new Set(failed.map(({ request }) => request)).size).toBe(failed.length);
  expect(failed[0]).toMatchObject({ pipeline: 'commissions', code: 'http_400', fix: expect.any(String) });
});

describe.each([
  ['a command that there is not', ['rum', '--log=json']],
  ['an option that there is not', ['status', '--log', 'json', '--nothing']],
  ['settings that are wrong', ['--log', 'json', 'explain', 'ordres', '2026-03-01']],
  ['what is wrong, said with --quiet', ['--quiet', '--log', 'json', 'rum']],
])('%s', (_, words) => {
  test('is said in JSON lines where they are asked for', async () => {
    const { code, err } = await typedIn(world, words);
    expect(code).toBe(2);
    for (const line of linesOf(err)) expect(JSON.parse(line)).toMatchObject({ level: 'error' });
  });
});

test('what a run that serve has begun says is passed on as it is, and what is no line of it becomes one', () => {
  const said = ['{"level":"info","message":"a run begins"}', 'FATAL ERROR: heap', '{"half'];
  const relayed = (format: 'text' | 'json') => {
    const { context, stderr } = fakeContext({ isTTY: true });
    context.settle({ verbose: false, quiet: false, format });
    for (const line of said) context.relay(line);
    return stderr.lines;
  };
  expect(relayed('text')).toEqual(said);
  const [first, ...others] = relayed('json');
  expect(first).toBe(said[0]);
  expect(others.map((line) => JSON.parse(line))).toMatchObject(
    said.slice(1).map((message) => ({ level: 'error', message })),
  );
});
