/** A raw store in a folder of its own, and answers of look-ups as a run gathers them. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { FetchRecord } from '../../src/core/records.ts';
import type { LookupAnswer } from '../../src/sources/body.ts';
import { FolderPlace } from '../../src/store/raw/folder.ts';
import type { Gatherer, JsonValue } from '../../src/store/raw/gather.ts';
import { RawStore } from '../../src/store/raw/raw.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';

export interface Place {
  readonly home: string;
  readonly raw: RawStore;
  readonly warnings: string[];
}

export async function emptyRawStore(): Promise<Place> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-lookups-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const warnings: string[] = [];
  const state = await openSqliteState(path.join(home, 'state.db'));
  onTestFinished(() => state.close());
  const place = new FolderPlace(home);
  return { home, warnings, raw: new RawStore({ state, place, warn: (message) => warnings.push(message) }) };
}

/** The record of an answered fetch; `number` gives its id and its age. */
export function fetchOf(number: number, fields: Partial<FetchRecord> = {}): FetchRecord {
  return {
    fetch_id: `f${String(number).padStart(17, '0')}`,
    run_id: 'r0',
    pipeline: 'commission-rates',
    window_from: null,
    window_to: null,
    method: 'POST',
    url: 'http://127.0.0.1/retailer/commission',
    attempt: 1,
    started_at: '2026-03-20T01:59:59.000Z',
    finished_at: '2026-03-20T02:00:00.123Z',
    status: 200,
    content_type: 'application/json',
    bytes_received: 0,
    bytes_decoded: 0,
    sha256: null,
    raw_path: null,
    items: null,
    outcome: 'ok',
    error_code: null,
    error_message: null,
    ...fields,
  };
}

/** Gathers an answer and records its fetch; returns the record. */
export async function gather(
  gatherer: Gatherer,
  number: number,
  request: JsonValue,
  body: string,
): Promise<FetchRecord> {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const fetch_id = fetchOf(number).fetch_id;
  const raw_path = gatherer.add({ fetchId: fetch_id, request, body: Buffer.from(body) });
  const fetch = fetchOf(number, { sha256, raw_path });
  await gatherer.record(fetch);
  return fetch;
}

/** An answer as the raw store gives it. */
export function answerOf(asked: unknown, body: unknown, fields: Partial<FetchRecord> = {}): LookupAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { fetch: fetchOf(1, fields), asked, body: Buffer.from(text) };
}

export async function linesIn(file: string): Promise<Record<string, string>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, string>);
}

export async function gathered<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
