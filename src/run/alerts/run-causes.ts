/**
 * Causes in the records of runs: runs that failed and were not made good since, and when each pipeline last went well.
 *
 * A failed run is a cause until every one of its pipelines was in a later run; that one then speaks for them. Runs that a person
 * stopped say nothing, and neither does one that is at work. So an undisturbed night costs the reading of the runs since the night
 * before it, however many there are.
 */
import { isoTime } from '../../core/clock.ts';
import { bornMs } from '../../core/ids.ts';
import type { RunRecord } from '../../core/records.ts';
import { runsBackwards } from '../../store/tables/runs.ts';
import { isAtWork } from '../at-work.ts';
import type { RunContext } from '../context.ts';
import { INTERRUPTED } from '../tally.ts';
import type { Cause } from './cause.ts';

/** A run that was due and never came to have a record. */
export interface Unstarted {
  readonly pipelines: readonly string[];
  /** When it was begun, ISO. */
  readonly at: string;
  /** Code of the error, or how it was lost. */
  readonly code: string;
}

export interface JudgedRuns {
  readonly causes: readonly Cause[];
  /** When the last run with the pipeline began that went well, in epoch milliseconds. */
  readonly wellMs: ReadonlyMap<string, number>;
  /** Of those that were given: for which no later run speaks yet. */
  readonly unstarted: readonly Unstarted[];
}

/** What is older says nothing any more. */
const LONGEST_MS = 14 * 86_400_000;
/** Errors that end calls, in the order in which one is named. */
const REFUSALS = ['address_banned', 'credentials_refused', 'token_rejected', 'forbidden', 'token_budget', 'token_type'];
/** Where push messages come every few minutes, records are many; the nights of a week are among these. */
const MOST_RUNS = 1000;
const CODES_SHOWN = 5;

type Verdict = 'well' | 'failed' | 'killed' | 'unsaid';

interface Outcome {
  readonly pipelines: readonly string[];
  readonly command: string;
  readonly startedMs: number;
  readonly verdict: Verdict;
  readonly codes: readonly string[];
  readonly unstarted?: Unstarted;
}

/** `watched`: names of the pipelines that are of interest. */
export async function judgeRuns(
  context: Pick<RunContext, 'state' | 'clock' | 'locks'>,
  watched: readonly string[],
  unstarted: readonly Unstarted[],
): Promise<JudgedRuns> {
  const seen = new Set<string>();
  const wellMs = new Map<string, number>();
  const causes = new Map<string, Cause>();
  const left: Unstarted[] = [];
  let looked = 0;
  for await (const outcome of outcomesOf(context, unstarted)) {
    looked += 1;
    if (looked > MOST_RUNS || context.clock.now() - outcome.startedMs > LONGEST_MS) break;
    const { pipelines, verdict, startedMs } = outcome;
    if (verdict === 'unsaid') continue;
    if (verdict === 'well') for (const name of pipelines) if (!wellMs.has(name)) wellMs.set(name, startedMs);
    if (verdict !== 'well' && pipelines.some((name) => !seen.has(name))) {
      const cause = causeOf(outcome);
      causes.set(cause.key, causes.get(cause.key) ?? cause);
      if (outcome.unstarted) left.push(outcome.unstarted);
    }
    for (const name of pipelines) seen.add(name);
    if (watched.every((name) => seen.has(name) && wellMs.has(name))) break;
  }
  return { causes: [...causes.values()], wellMs, unstarted: left };
}

/** Newest first. */
async function* outcomesOf(
  context: Pick<RunContext, 'state' | 'locks'>,
  unstarted: readonly Unstarted[],
): AsyncGenerator<Outcome> {
  const waiting = unstarted.map(neverBegun).sort((a, b) => a.startedMs - b.startedMs);
  let isNewest = true;
  for await (const run of runsBackwards(context.state.db)) {
    const outcome = await outcomeOf(context, run, isNewest);
    isNewest = false;
    while ((waiting.at(-1)?.startedMs ?? 0) > outcome.startedMs) yield waiting.pop()!;
    yield outcome;
  }
  while (waiting.length > 0) yield waiting.pop()!;
}

function neverBegun(one: Unstarted): Outcome {
  const { pipelines, at, code } = one;
  const command = ['run', ...pipelines].join(' ');
  return { pipelines, command, startedMs: Date.parse(at), verdict: 'failed', codes: [code], unstarted: one };
}

async function outcomeOf(context: Pick<RunContext, 'locks'>, run: RunRecord, isNewest: boolean): Promise<Outcome> {
  const { pipelines, command, run_id, started_at, result } = run;
  const codes = run.summary?.codes ?? [];
  const bornAtMs = bornMs(run_id);
  const startedMs = Number.isNaN(bornAtMs) ? Date.parse(started_at) : bornAtMs;
  const facts = { pipelines, command, startedMs, codes };
  if (result === 'done' || result === 'set_aside') return { ...facts, verdict: 'well' };
  if (result === 'failed' || result === 'refused') return { ...facts, verdict: 'failed' };
  // Runs exclude each other: one without an end that is not the newest can only have been killed.
  if (result === null) return { ...facts, verdict: isNewest && (await isAtWork(context, run)) ? 'unsaid' : 'killed' };
  return { ...facts, verdict: codes.some((code) => code !== INTERRUPTED) ? 'failed' : 'unsaid' };
}

function causeOf({ pipelines, command, startedMs, verdict, codes, unstarted }: Outcome): Cause {
  const refusal = REFUSALS.find((code) => codes.includes(code));
  const since = isoTime(startedMs);
  if (refusal) return refusedCause(refusal, since);
  const shown = codes.length === 0 ? '' : ` (${codes.slice(0, CODES_SHOWN).join(', ')})`;
  const how = unstarted ? `could not begin${shown}` : verdict === 'killed' ? 'was killed' : `failed${shown}`;
  return {
    key: `run/${[...pipelines].sort().join('+')}`,
    kind: 'run_failed',
    what: `the run "${command}" ${how}`,
    since,
    means: unstarted
      ? 'nothing was fetched or loaded; the warehouse is as it was'
      : 'what could be loaded is loaded; the rest is as it was, and the next run goes on there',
    look: unstarted ? 'partner-etl doctor' : 'partner-etl status',
    fix: `partner-etl ${command}`,
  };
}

/** `code`: of the error with which the service was no longer called. */
export function refusedCause(code: string, since: string): Cause {
  const isBan = code === 'address_banned';
  const what = {
    address_banned: 'the service has banned this address',
    credentials_refused: 'the service refused the credentials',
  }[code];
  return {
    key: `refused/${code}`,
    kind: 'refused',
    what: what ?? `the service refused our calls (${code})`,
    since,
    means: 'nothing is fetched until that is fixed; what is loaded stays as it is',
    look: 'partner-etl doctor',
    fix: isBan
      ? 'check PARTNER_AUTH_URL; else wait, or ask the service to lift the ban'
      : 'check PARTNER_CLIENT_ID and PARTNER_CLIENT_SECRET, then: partner-etl doctor --online',
  };
}
