/**
 * The record of a run: `runs/<run_id>.json`, written when it begins and when it ends, so that a night is recorded also when no
 * warehouse can be reached and when the program is killed (then without an end). `runs/<run_id>.drift.json` beside it keeps
 * what was seen that the contract does not know, `runs/<run_id>.pruned.json` the fetches whose answers it deleted.
 */
import path from 'node:path';
import { z } from 'zod';
import { type Clock, isoTime } from '../core/clock.ts';
import { type Day, isDay } from '../core/days.ts';
import { bornMs, newId } from '../core/ids.ts';
import type { DriftRecord, PrunedFetch, RunRecord, RunResult, RunSummary } from '../core/records.ts';
import { namesIn, writeJson } from '../disk/atomic.ts';
import { readState } from './state-file.ts';

/** What every version of the program has written, and readers rely on; the rest is handed on as it is. */
const recordShape = z.looseObject({
  run_id: z.string(),
  command: z.string(),
  pipelines: z.array(z.string()),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  result: z.enum(['done', 'failed', 'set_aside', 'refused', 'interrupted']).nullable(),
  exit_code: z.int().nullable(),
  summary: z.looseObject({}).nullable(),
});
const driftShape = z.array(
  z.object({
    pipeline: z.string(),
    fetch_id: z.string(),
    kind: z.string(),
    field: z.string(),
    count: z.int(),
    example: z.string(),
    check: z
      .object({ days: z.array(z.custom<Day>((value) => typeof value === 'string' && isDay(value))), mend: z.string() })
      .optional(),
  }),
);
const prunedShape = z.array(z.object({ fetch_id: z.string(), pruned_at: z.string() }));

export class RunLedger {
  private readonly folder: string;
  private readonly clock: Clock;
  private current: RunRecord;
  readonly drift: DriftRecord[] = [];
  readonly pruned: PrunedFetch[] = [];

  private constructor(folder: string, clock: Clock, record: RunRecord) {
    this.folder = folder;
    this.clock = clock;
    this.current = record;
  }

  static async begin(folder: string, clock: Clock, command: string, pipelines: readonly string[]): Promise<RunLedger> {
    const record: RunRecord = {
      run_id: newId('r', clock),
      command,
      pipelines,
      started_at: isoTime(clock.now()),
      ended_at: null,
      result: null,
      exit_code: null,
      summary: null,
    };
    const ledger = new RunLedger(folder, clock, record);
    await ledger.write();
    return ledger;
  }

  get record(): RunRecord {
    return this.current;
  }

  get runId(): string {
    return this.current.run_id;
  }

  /** The record as it will be if nothing more goes wrong; what a publication carries into a target. */
  endingAs(result: RunResult, exitCode: number, summary: RunSummary): RunRecord {
    return { ...this.current, ended_at: isoTime(this.clock.now()), result, exit_code: exitCode, summary };
  }

  async end(result: RunResult, exitCode: number, summary: RunSummary): Promise<RunRecord> {
    this.current = this.endingAs(result, exitCode, summary);
    await this.write();
    return this.current;
  }

  private async write(): Promise<void> {
    if (this.drift.length > 0) await writeJson(driftFile(this.folder, this.runId), this.drift);
    if (this.pruned.length > 0) await writeJson(prunedFile(this.folder, this.runId), this.pruned);
    await writeJson(path.join(this.folder, `${this.runId}.json`), this.current);
  }
}

/** Runs newer than `after` (all when null), oldest first. */
export async function runsSince(folder: string, after: string | null): Promise<RunRecord[]> {
  const due = (await recordNames(folder)).filter((name) => after === null || name.slice(0, -5) > after);
  return readRecords(folder, due);
}

/** The last `count` runs, newest first. */
export async function lastRuns(folder: string, count: number): Promise<RunRecord[]> {
  return readRecords(folder, (await recordNames(folder)).slice(-count).reverse());
}

/** Whether the last run ended, and in good order; not where its record is damaged. */
export async function endedWell(folder: string): Promise<boolean> {
  const newest = (await recordNames(folder)).at(-1);
  const last = newest === undefined ? null : await readRecord(folder, newest);
  return last !== null && last.ended_at !== null && last.result !== 'failed';
}

/** Runs that were born between two instants, given in epoch milliseconds; oldest first. */
export async function runsBorn(folder: string, fromMs: number, toMs: number): Promise<RunRecord[]> {
  const isOurs = (name: string) => {
    const ms = bornMs(name.slice(0, -5));
    return ms >= fromMs && ms <= toMs;
  };
  return readRecords(folder, (await recordNames(folder)).filter(isOurs));
}

/** Names of the records, oldest first. */
async function recordNames(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => /^r[0-9a-z]+\.json$/.test(name)).sort();
}

/** Without those that are damaged, which nobody is to stumble over. */
async function readRecords(folder: string, names: readonly string[]): Promise<RunRecord[]> {
  const records = await Promise.all(names.map((name) => readRecord(folder, name)));
  return records.filter((record) => record !== null);
}

/** Null where the file is gone or no record of that run. */
async function readRecord(folder: string, name: string): Promise<RunRecord | null> {
  const record = await readState(path.join(folder, name), recordShape);
  return record?.run_id === name.slice(0, -5) ? (record as RunRecord) : null;
}

export async function driftOfRun(folder: string, runId: string): Promise<DriftRecord[]> {
  return ((await readState(driftFile(folder, runId), driftShape)) ?? []) as DriftRecord[];
}

/** The fetches whose answers a run deleted. */
export async function prunedInRun(folder: string, runId: string): Promise<PrunedFetch[]> {
  return (await readState(prunedFile(folder, runId), prunedShape)) ?? [];
}

/** Up to when what was pruned is in the files of runs; '' where no run pruned anything. */
export async function prunedUntil(folder: string): Promise<string> {
  const names = (await namesIn(folder)).filter((name) => /^r[0-9a-z]+\.pruned\.json$/.test(name)).sort();
  const newest = names.at(-1);
  if (newest === undefined) return '';
  const pruned = await prunedInRun(folder, newest.slice(0, newest.indexOf('.')));
  return pruned.reduce((last, { pruned_at: at }) => (at > last ? at : last), '');
}

function prunedFile(folder: string, runId: string): string {
  return path.join(folder, `${runId}.pruned.json`);
}

function driftFile(folder: string, runId: string): string {
  return path.join(folder, `${runId}.drift.json`);
}

/** Runs from the newest to the oldest, read one by one. */
export async function* runsBackwards(folder: string): AsyncGenerator<RunRecord> {
  for (const name of (await recordNames(folder)).reverse()) {
    const record = await readRecord(folder, name);
    if (record !== null) yield record;
  }
}

export interface RunDrift {
  readonly runId: string;
  readonly startedAt: string;
  readonly drift: readonly DriftRecord[];
}

/** A whole history is looked through but once, and the newest of it says enough. */
const MOST_DRIFT_FILES = 100;

/** What runs newer than `after` (all when null) saw that the contract does not know, oldest first; only those that saw something. */
export async function driftAfter(folder: string, after: string | null): Promise<RunDrift[]> {
  const ids = (await namesIn(folder)).flatMap((name) => /^(r[0-9a-z]+)\.drift\.json$/.exec(name)?.[1] ?? []);
  const due = ids.filter((id) => after === null || id > after).sort();
  return Promise.all(
    due.slice(-MOST_DRIFT_FILES).map(async (runId) => {
      const startedAt = isoTime(bornMs(runId));
      return { runId, startedAt, drift: await driftOfRun(folder, runId) };
    }),
  );
}
