/**
 * Fetch records as they come: each is handed on once, and those of before are not read. For who counts while runs go on, be they of
 * this process or of others, without reading ten years each time.
 *
 * Sidecars are whole files; whether one was seen is known by its name. Files of runs grow while the run does, so of these it is known
 * up to where they were read. Only months are looked into in which a run of now may have begun.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../core/clock.ts';
import { bornMs } from '../core/ids.ts';
import { LIMITS } from '../core/limits.ts';
import type { FetchRecord } from '../core/records.ts';
import { namesIn, readIfThere } from '../disk/atomic.ts';
import { RUN_RECORDS } from './fetch-order.ts';
import { recordIn } from './fetch-record.ts';
import { readRecords } from './run-records.ts';
import { SIDECAR } from './sidecar.ts';

export interface NewFetchesOptions {
  /** The folder of the vault. */
  readonly vaultRoot: string;
  readonly pipeline: string;
  /** Fetches that began earlier are not handed on. */
  readonly sinceMs: number;
}

interface SeenMonth {
  readonly sidecars: Set<string>;
  /** Bytes that were read, by file name. */
  readonly runs: Map<string, number>;
}

export class NewFetches {
  private readonly folder: string;
  private readonly sinceMs: number;
  private from: string;
  private readonly seen = new Map<string, SeenMonth>();

  constructor({ vaultRoot, pipeline, sinceMs }: NewFetchesOptions) {
    this.folder = path.join(vaultRoot, pipeline, 'fetches');
    this.sinceMs = sinceMs;
    this.from = monthOf(sinceMs - LIMITS.runMs);
  }

  /** Hands on what came since the last time, in no order. What is torn or damaged is left out. One call at a time. */
  async read(nowMs: number, take: (fetch: FetchRecord) => void): Promise<void> {
    const months = (await namesIn(this.folder)).filter((name) => name >= this.from).sort();
    for (const month of months) {
      const seen = this.seen.get(month) ?? { sidecars: new Set(), runs: new Map() };
      this.seen.set(month, seen);
      for (const name of await namesIn(path.join(this.folder, month))) {
        const file = path.join(this.folder, month, name);
        if (name.endsWith(RUN_RECORDS)) await this.readRun(file, name, seen, nowMs, take);
        else if (name.endsWith(SIDECAR)) await this.readSidecar(file, name, seen, take);
      }
    }
    this.from = monthOf(nowMs - LIMITS.runMs);
    for (const month of this.seen.keys()) if (month < this.from) this.seen.delete(month);
  }

  private async readSidecar(
    file: string,
    name: string,
    seen: SeenMonth,
    take: (fetch: FetchRecord) => void,
  ): Promise<void> {
    if (seen.sidecars.has(name) || !(bornMs(name.slice(0, -SIDECAR.length)) >= this.sinceMs)) return;
    const text = await readIfThere(file);
    const fetch = text === null ? null : recordIn(text);
    seen.sidecars.add(name);
    if (fetch) take(fetch);
  }

  private async readRun(
    file: string,
    name: string,
    seen: SeenMonth,
    nowMs: number,
    take: (fetch: FetchRecord) => void,
  ): Promise<void> {
    const runId = name.slice(0, -RUN_RECORDS.length);
    const from = seen.runs.get(name) ?? 0;
    const beganMs = bornMs(runId);
    const isOver = seen.runs.has(name) && nowMs - beganMs > LIMITS.runMs;
    if (isOver || !(beganMs >= this.sinceMs - LIMITS.runMs)) return;
    const size = await stat(file).then(({ size: bytes }) => bytes, ignoreMissing);
    if (size === null) return;
    if (size <= from) return void seen.runs.set(name, from);
    const { records, bytes } = await readRecords({ runId, file, bytes: size }, from, () => undefined);
    seen.runs.set(name, bytes);
    for (const fetch of records) if (bornMs(fetch.fetch_id) >= this.sinceMs) take(fetch);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

function monthOf(ms: number): string {
  return isoTime(ms).slice(0, 7);
}
