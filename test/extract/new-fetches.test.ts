import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { NewFetches } from '../../src/extract/new-fetches.ts';

const SINCE_MS = Date.parse('2026-03-01T12:00:00Z');
const DAY_MS = 86_400_000;

let vaultRoot: string;
let fetches: NewFetches;
beforeEach(async () => {
  vaultRoot = await mkdtemp(path.join(tmpdir(), 'etl-new-fetches-'));
  onTestFinished(() => rm(vaultRoot, { recursive: true, force: true }));
  fetches = new NewFetches({ vaultRoot, pipeline: 'orders', sinceMs: SINCE_MS });
});

const idAt = (prefix: 'r' | 'f', ms: number) => newId(prefix, { now: () => ms, sleep: async () => undefined });
const monthAt = (ms: number) => new Date(ms).toISOString().slice(0, 7);

async function place(monthMs: number, name: string): Promise<string> {
  const folder = path.join(vaultRoot, 'orders', 'fetches', monthAt(monthMs));
  await mkdir(folder, { recursive: true });
  return path.join(folder, name);
}

async function sidecar(ms: number, text?: string): Promise<string> {
  const id = idAt('f', ms);
  await writeFile(await place(ms, `${id}.json`), text ?? JSON.stringify({ fetch_id: id }));
  return id;
}

/** A line in the records of the run; the id of its fetch. */
async function line(runId: string, runMs: number, ms: number, end = '\n'): Promise<string> {
  const id = idAt('f', ms);
  await appendFile(await place(runMs, `${runId}.ndjson`), `${JSON.stringify({ fetch_id: id })}${end}`);
  return id;
}

async function read(nowMs = SINCE_MS): Promise<string[]> {
  const found: string[] = [];
  await fetches.read(nowMs, ({ fetch_id: id }) => found.push(id));
  return found.sort();
}

test('nothing where nothing was ever fetched', async () => {
  expect(await read()).toEqual([]);
});

test('each is handed on once, and none that began before', async () => {
  await sidecar(SINCE_MS - 1);
  const first = await sidecar(SINCE_MS);
  expect(await read()).toEqual([first]);
  const second = await sidecar(SINCE_MS + 5);
  expect([await read(), await read()]).toEqual([[second], []]);
});

test('one that was recorded later than a younger one is not overlooked', async () => {
  const young = await sidecar(SINCE_MS + 2000);
  expect(await read()).toEqual([young]);
  const old = await sidecar(SINCE_MS + 1000);
  expect(await read()).toEqual([old]);
});

test('the records of a run are followed while it goes on, also when it began before, in the month before', async () => {
  const beganMs = SINCE_MS - 2 * DAY_MS;
  const runId = idAt('r', beganMs);
  await line(runId, beganMs, SINCE_MS - 1000);
  const first = await line(runId, beganMs, SINCE_MS + 1000);
  expect(await read()).toEqual([first]);
  const second = await line(runId, beganMs, SINCE_MS + 2000, '');
  expect(await read()).toEqual([]);
  await appendFile(await place(beganMs, `${runId}.ndjson`), '\n');
  expect([await read(), await read()]).toEqual([[second], []]);
});

test('after a year in which nobody asked, what came meanwhile is still handed on', async () => {
  const ids = [await sidecar(SINCE_MS + 40 * DAY_MS), await sidecar(SINCE_MS + 300 * DAY_MS)];
  expect(await read(SINCE_MS + 365 * DAY_MS)).toEqual(ids.sort());
  expect(await read(SINCE_MS + 365 * DAY_MS)).toEqual([]);
});

test('months that are over are not looked into', async () => {
  await read(SINCE_MS + 40 * DAY_MS);
  await sidecar(SINCE_MS + 1);
  expect(await read(SINCE_MS + 40 * DAY_MS)).toEqual([]);
});

test('what is damaged is left out', async () => {
  await sidecar(SINCE_MS, 'garbage');
  const sound = await sidecar(SINCE_MS);
  expect([await read(), await read()]).toEqual([[sound], []]);
});
