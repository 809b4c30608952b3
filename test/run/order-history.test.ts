/** What a sequence of answers makes of the items and of their history, in a real lake: a line for each thing that can happen to an item. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { orders } from '../../pipelines/orders.ts';
import { type Day, parseDay } from '../../src/core/days.ts';
import { Engine, readParquet } from '../../src/engine/duckdb.ts';
import { splitAnswer } from '../../src/extract/answer.ts';
import { Lake, type SliceChange } from '../../src/lake/lake.ts';
import { normalise } from '../../src/normalise/normalise.ts';
import { historyChanges } from '../../src/run/window/history.ts';
import { amendLosers } from '../../src/run/window/moved.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import { beginRun, endRun } from '../../src/store/tables/runs.ts';

/** `hh:mm` of a day, and on which day the answer has which items: `item=what it says`. A day without items was asked for too. */
type Answer = readonly [at: string, days: Readonly<Record<string, string>>];
type Step = Answer | 'the run ends';

/** The items that are, and what they were: day, item, what it says, since when, until when and why. */
const LIVES: readonly (readonly [string, readonly Step[], readonly string[]])[] = [
  ['is first seen', [['01:00', { A: 'x=1' }]], ['A x=1 01:00']],
  [
    'says the same again',
    [
      ['01:00', { A: 'x=1 y=1' }],
      ['02:00', { A: 'x=1 y=1' }],
    ],
    ['A x=1 01:00', 'A y=1 01:00'],
  ],
  [
    'changes, and another one of its day does not',
    [
      ['01:00', { A: 'x=1 y=1' }],
      ['02:00', { A: 'x=2 y=1' }],
    ],
    ['A x=1 01:00 02:00 changed', 'A x=2 02:00', 'A y=1 01:00'],
  ],
  [
    'changes twice in a night, and back',
    [
      ['01:00', { A: 'x=1' }],
      ['02:00', { A: 'x=2' }],
      ['03:00', { A: 'x=1' }],
    ],
    ['A x=1 01:00 02:00 changed', 'A x=2 02:00 03:00 changed', 'A x=1 03:00'],
  ],
  [
    'is gone',
    [
      ['01:00', { A: 'x=1 y=1' }],
      ['02:00', { A: 'y=1' }],
    ],
    ['A x=1 01:00 02:00 gone', 'A y=1 01:00'],
  ],
  [
    'is gone with all of its day, and comes back',
    [['01:00', { A: 'x=1' }], ['02:00', { A: '' }], 'the run ends', ['03:00', { A: 'x=1' }]],
    ['A x=1 01:00 02:00 gone', 'A x=1 03:00'],
  ],
  [
    'moves within an answer',
    [
      ['01:00', { A: 'x=1', B: '' }],
      ['02:00', { A: '', B: 'x=1' }],
    ],
    ['A x=1 01:00 02:00 moved', 'B x=1 02:00'],
  ],
  [
    'moves to a day that is asked for first',
    [
      ['01:00', { A: 'x=1' }],
      ['02:00', { B: 'x=1' }],
      ['03:00', { A: '' }],
    ],
    ['A x=1 01:00 02:00 moved', 'B x=1 02:00'],
  ],
  [
    'moves to a day that the same run asks for later',
    [
      ['01:00', { A: 'x=1' }],
      ['02:00', { A: '' }],
      ['02:05', { B: 'x=2' }],
    ],
    ['A x=1 01:00 02:05 moved', 'B x=2 02:05'],
  ],
  [
    'is found on another day after a run had shown that it was gone',
    [['01:00', { A: 'x=1' }], ['02:00', { A: '' }], 'the run ends', ['03:00', { B: 'x=1' }]],
    ['A x=1 01:00 02:00 gone', 'B x=1 03:00'],
  ],
  [
    'moves there and back',
    [
      ['01:00', { A: 'x=1', B: '' }],
      ['02:00', { A: '', B: 'x=1' }],
      ['03:00', { A: 'x=1', B: '' }],
    ],
    ['A x=1 01:00 02:00 moved', 'B x=1 02:00 03:00 moved', 'A x=1 03:00'],
  ],
  [
    'is read anew at the instant at which it began',
    [
      ['01:00', { A: 'x=1' }],
      ['01:00', { A: 'x=2' }],
    ],
    ['A x=2 01:00'],
  ],
  [
    'is shown by an older answer after a newer one, which ends nothing',
    [
      ['02:00', { A: 'x=2' }],
      ['01:00', { A: 'x=1' }],
    ],
    ['A x=1 02:00'],
  ],
  [
    'changes in two answers of which the second is taken in twice',
    [
      ['01:00', { A: 'x=1' }],
      ['02:00', { A: 'x=2' }],
      ['02:00', { A: 'x=2' }],
    ],
    ['A x=1 01:00 02:00 changed', 'A x=2 02:00'],
  ],
];

const DAYS: Readonly<Record<string, Day>> = { A: parseDay('2026-03-01'), B: parseDay('2026-03-05') };
const nameOf = (day: string) => Object.keys(DAYS).find((name) => DAYS[name] === day) ?? day;

let root: string;
let engine: Engine;
let state: State;
let lake: Lake;
let rounds = 0;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'etl-history-'));
  engine = await Engine.open({ tempDir: path.join(root, 'spill') });
  state = await openSqliteState(path.join(root, 'state.db'));
  lake = new Lake({ root, state, pipelines });
});
afterEach(async () => {
  engine.close();
  await state.close();
  await rm(root, { recursive: true, force: true });
});

/** Each day is an answer of its own, so that items may stand in any of them. */
async function take([time, days]: Answer): Promise<void> {
  const at = `2026-03-10T${time}:00.000Z`;
  const slices = await lake.slices('orders');
  const fileOf = (day: Day) => {
    const entry = slices.get(day);
    return entry ? lake.rowsFile(entry) : null;
  };
  const changes: SliceChange[] = [];
  for (const [name, items] of Object.entries(days)) {
    const slice = await sliceOf(DAYS[name]!, items, at, fileOf);
    if (slices.get(DAYS[name]!)?.content.digest === slice.content.digest) continue;
    const { content, file, rejectsFile } = slice;
    changes.push({ kind: 'replace', pipeline: 'orders', content, files: { file, rejectsFile } });
  }
  const outDir = path.join(root, `out-${rounds++}`);
  const replaced = changes.flatMap((c) => (c.kind === 'replace' ? [{ content: c.content, file: c.files.file }] : []));
  const losers = await amendLosers(engine, lake, orders, replaced, outDir);
  const context = { lake, pipelines, state, timeZone: 'Europe/Amsterdam' };
  const all = [...changes, ...losers];
  const ended = await historyChanges(context, engine, orders, all, fileOf, { at, fetchId: `f-${time}`, outDir });
  await lake.commit([...all, ...ended]);
}

async function sliceOf(day: Day, items: string, at: string, current: (day: Day) => string | null) {
  const folder = path.join(root, `answer-${rounds++}`);
  await mkdir(folder);
  const records = items.split(' ').flatMap((item) => {
    const [orderItemId, productTitle] = item.split('=');
    return item === '' ? [] : [{ orderDate: day, orderId: 'o', orderItemId, productTitle }];
  });
  const answer = Buffer.from(JSON.stringify({ items: records }));
  async function* body() {
    yield answer;
  }
  const { split, linesFile, splitRejectsFile } = await splitAnswer(body(), orders, folder);
  const { lines, longestLineBytes, hasExponents, rejects: splitRejects } = split;
  const { slices } = await normalise(engine, {
    ...{ pipeline: orders, range: { from: day, to: day }, linesFile, lines, longestLineBytes, hasExponents },
    ...{ splitRejectsFile, splitRejects, fetchId: `f-${at}`, fetchedAt: at, rawAnswer: body },
    ...{ timeZone: 'Europe/Amsterdam', outDir: path.join(folder, 'out'), isKnown: () => false, current },
  });
  return slices[0]!;
}

let ends = 0;
async function endOfRun(): Promise<void> {
  ends += 1;
  const at = '2026-03-10T02:30:00.000Z';
  const named = { run_id: `r${ends}`, command: 'run', pipelines: ['orders'], started_at: at, summary: null };
  await beginRun(state, { ...named, ended_at: null, result: null, exit_code: null });
  await endRun(state, { ...named, ended_at: at, result: 'done', exit_code: 0 }, []);
}

async function lives(): Promise<string[]> {
  const parts: string[] = [];
  for (const [name, end] of [
    ['orders', `'', ''`],
    ['orders-history', `strftime(timezone('UTC', valid_to), '%H:%M'), ended_by`],
  ] as const) {
    const files = [...(await lake.slices(name)).values()].flatMap((entry) => lake.rowsFile(entry) ?? []);
    if (files.length > 0)
      parts.push(
        `SELECT order_date::VARCHAR AS day, order_item_id || '=' || product_title AS item, valid_from,
           trim(concat_ws(' ', strftime(timezone('UTC', valid_from), '%H:%M'), ${end})) AS span FROM ${readParquet(files)}`,
      );
  }
  if (parts.length === 0) return [];
  const rows = await engine.rows(`FROM (${parts.join(' UNION ALL ')}) ORDER BY valid_from, day, item`);
  return rows.map(({ day, item, span }) => `${nameOf(String(day))} ${String(item)} ${String(span)}`);
}

it.each(LIVES)('an item that %s', async (_, steps, expected) => {
  for (const step of steps) await (step === 'the run ends' ? endOfRun() : take(step));
  expect((await lives()).sort()).toEqual([...expected].sort());
});
