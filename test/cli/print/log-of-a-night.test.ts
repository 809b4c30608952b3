/** What the program writes on stderr in a night in which much goes wrong, as somebody reads it who looks for one run, day or request. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FetchRecord, RunRecord } from '../../../src/core/records.ts';
import { openWorld, type World } from '../../support/nights.ts';
import { TextWriter } from '../surroundings.ts';
import { typedIn } from '../typed.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly run?: string;
  readonly pipeline?: string;
  readonly slice?: string;
  readonly request?: string;
  readonly [name: string]: unknown;
}

let world: World;
let run: RunRecord;
let fetches: FetchRecord[];
let lines: Line[];

/** Every line that was written. */
function jsonLines(text: string): Line[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const about = (wanted: Partial<Line>) =>
  lines.filter((line) => Object.entries(wanted).every(([name, value]) => line[name] === value));

beforeAll(async () => {
  world = await openWorld({ lookbackDays: 4, windowDays: 2, ordersPerDay: 40 });
  await world.night();
  const { to } = world.lookback();
  world.sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 503, retryAfter: '1', times: 1 });
  world.sandbox.addFault({ endpoint: 'promotions', kind: 'revoke-tokens', times: 1 });
  world.sandbox.addFault({ endpoint: 'commissions', kind: 'status', status: 400, times: 99 });
  world.sandbox.change({ kind: 'empty-day', report: 'orders', day: to });
  const { out, err } = await typedIn(world, ['run', '--json', '--verbose', '--log', 'json']);
  run = JSON.parse(out) as RunRecord;
  lines = jsonLines(err);
  fetches = [];
  await world.within(async ({ raw, pipelines }) => {
    for (const { name } of pipelines)
      for await (const fetch of raw.fetches(name)) if (fetch.run_id === run.run_id) fetches.push(fetch);
  });
});
afterAll(() => world.close());

const RUN_ID = /^r[0-9a-z]{18}$/;
const REQUEST_ID = /^f[0-9a-z]{18}$/;

test('every line of a run names it, from its beginning to its end', () => {
  expect(run.run_id).toMatch(RUN_ID);
  // Progress is of the command, and says the pipeline.
  expect(lines.filter((line) => line.run !== run.run_id && line.pipeline === undefined)).toEqual([]);
  expect(lines[0]).toMatchObject({ message: 'a run begins', command: 'run' });
  expect(lines.at(-1)).toMatchObject({ message: 'the run has ended', result: 'failed', exit_code: 1 });
  expect(about({ message: 'new access token' })).toHaveLength(1);
});

test('every request is said once by its id, with pipeline, days and status', () => {
  const said = lines.filter(({ message, status }) => status !== undefined && /^fetch/.test(message));
  const shown = said.map(({ request, pipeline, slice, status }) => [request, pipeline, slice, status]);
  const recorded = fetches.map(({ fetch_id: request, pipeline, window_from: from, window_to: to, status }) => [
    request,
    pipeline,
    `${from}..${to}`,
    status,
  ]);
  expect(shown.sort()).toEqual(recorded.sort());
  expect(new Set(recorded.map(([, , , status]) => status))).toEqual(new Set([200, 400, 401, 503]));
});

test('what is tried again, and what fails in the end, names the request that was answered so', () => {
  const idOf = (status: number) => fetches.filter((fetch) => fetch.status === status).map((fetch) => fetch.fetch_id);
  expect(about({ message: 'trying again in 1 s' }).map(({ request }) => request)).toEqual(idOf(503));
  expect(about({ message: 'the service rejected the token; asking for a new one' })).toMatchObject([
    { pipeline: 'promotions', request: idOf(401)[0] },
  ]);
  const failures = about({ level: 'error', pipeline: 'commissions' });
  // Both were answered in the same millisecond, in which ids have no order.
  expect(failures.map(({ request }) => request).sort()).toEqual(idOf(400).sort());
  for (const { slice } of failures) expect(slice).toMatch(/^2026-03-\d\d\.\.2026-03-\d\d$/);
});

test('what is held names its day, and the request that brought it', () => {
  const { to } = world.lookback();
  const [held] = about({ level: 'warn', pipeline: 'orders', slice: to });
  expect(held?.message).toContain('is held');
  expect(fetches.find(({ fetch_id: id }) => id === held?.request)).toMatchObject({ pipeline: 'orders', window_to: to });
});

test('no line has another name for these', () => {
  const names = new Set(lines.flatMap((line) => Object.keys(line)));
  for (const other of ['run_id', 'runId', 'fetch', 'fetch_id', 'requestId', 'day', 'window', 'from', 'to'])
    expect([...names]).not.toContain(other);
  for (const { request } of lines) if (request !== undefined) expect(request).toMatch(REQUEST_ID);
});

test('on a terminal the night shows as a live line for each pipeline, with what is left of the budget of its calls', async () => {
  const stderr = new TextWriter({ isTTY: true, columns: 200 });
  await typedIn(world, ['run', 'orders'], { stderr });
  // What is left is known from the first call on: other processes may have taken their part.
  expect(stderr.text).toMatch(/orders: [01]\/2 windows, \d+ rows, .*[012] of 2 calls a second left/);
  expect(stderr.text).not.toContain('{');
});
