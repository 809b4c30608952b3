/**
 * Running checks, alike in both engines: each is one statement around the check's SELECT, which groups what it yields by day. So a
 * check cannot write, and however many rows break it, only a count and an example a day come back.
 */
import type { Day } from '../../core/days.ts';
import { type Pipeline, parentName } from '../../core/pipeline.ts';
import type { SliceContent } from '../../core/records.ts';
import { noTracer, spanning } from '../../core/tracer.ts';
import { onDays } from '../on-days.ts';
import type { CheckWarning, LoadSlice, Publication, Receipts } from '../target.ts';
import { BlockedByChecks, type BrokenCheck, type Check, sqlOn } from './checks.ts';

/** An engine as checks need it. */
export interface CheckEngine {
  /** The check's SELECT as something that can stand behind FROM, and can be nothing but one SELECT. */
  source(select: string): string;
  /** Refuses a statement that the engine does not understand, without running it. Errors: `usage/check`. */
  prove(check: Check, statement: string): Promise<void>;
  /** Errors: `usage/check` with the engine's message; `failed/check_timeout`; where memory or disk did not do `failed/check_unfinished`. */
  rows(check: Check, statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** How long one check may take: on all days of ten million rows the slowest takes some seconds. */
export const CHECK_TIMEOUT_MS = 600_000;
const EXAMPLE_CHARS = 1000;

/** Refuses checks whose SQL is wrong, before anything is loaded. */
export async function proveChecks(engine: CheckEngine, checks: readonly Check[]): Promise<void> {
  for (const check of checks) await engine.prove(check, statementOf(engine, check, []));
}

/** What breaks the checks on the days that `daysOf` gives for each, or on any where it is null. */
export async function runChecks(
  engine: CheckEngine,
  checks: readonly Check[],
  daysOf: ((check: Check) => readonly Day[]) | null,
): Promise<BrokenCheck[]> {
  const broken: BrokenCheck[] = [];
  for (const check of checks) {
    const on = daysOf?.(check) ?? null;
    if (on?.length === 0) continue;
    const { name, severity, pipeline, about, fix } = check;
    for (const { day, field, found, example } of await engine.rows(check, statementOf(engine, check, on)))
      broken.push({
        check: name,
        severity,
        pipeline,
        about,
        fix,
        day: day === null ? null : (String(day) as Day),
        field: field === null ? null : String(field),
        rows: Number(found),
        example: String(example).slice(0, EXAMPLE_CHARS),
      });
  }
  return broken;
}

function statementOf(engine: CheckEngine, check: Check, days: readonly Day[] | null): string {
  const where = days === null ? '' : `WHERE ${onDays('slice_day', days)}`;
  return `SELECT CAST(slice_day AS VARCHAR) AS day, (to_json(broken_row) ->> 'field') AS field, CAST(count(*) AS VARCHAR) AS found,
      min(CAST(to_json(broken_row) AS VARCHAR)) AS example
    FROM ${engine.source(sqlOn(check, days))} AS broken_row ${where} GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** What the checks of a publication have found. */
export interface Checked {
  /** What the loaded slices are published in spite of. */
  readonly warnings: readonly CheckWarning[];
  /** What is to be recorded: the warnings, and those of the other days that the same fetches brought. */
  readonly found: readonly CheckWarning[];
  /** What was looked at, so that what it found before can be forgotten. */
  readonly looked: readonly Looked[];
}

/** A check, and the fetches on all of whose days it has looked. */
export interface Looked {
  readonly check: Check;
  readonly fetches: readonly string[];
}

/**
 * Checks what a publication has loaded, `loaded` being those of its slices, `before` what stood before it; to be called inside its
 * transaction. Errors: `BlockedByChecks`, which names every slice that must be left out.
 */
export async function checkLoaded(
  engine: CheckEngine,
  publication: Publication,
  loaded: readonly LoadSlice[],
  before: Receipts,
): Promise<Checked> {
  const { tracer = noTracer, checks = [] } = publication;
  const standing = standingAfter(before, loaded);
  return spanning(tracer, 'checks', { checks: checks.length }, () =>
    standingChecks(engine, publication, loaded, standing),
  );
}

/** By pipeline and day, the fetch that brought what stands now. */
type Standing = ReadonlyMap<string, ReadonlyMap<Day, string>>;

function standingAfter(before: Receipts, loaded: readonly LoadSlice[]): Standing {
  const standing = new Map<string, Map<Day, string>>();
  for (const [pipeline, receipts] of before)
    standing.set(pipeline, new Map([...receipts].map(([day, { fetch_id }]) => [day, fetch_id])));
  for (const { pipeline, content } of loaded) {
    const days = standing.get(pipeline.name) ?? new Map<Day, string>();
    standing.set(pipeline.name, days.set(content.day, content.fetch_id));
  }
  return standing;
}

async function standingChecks(
  engine: CheckEngine,
  { checks = [], released = new Set() }: Publication,
  loaded: readonly LoadSlice[],
  standing: Standing,
): Promise<Checked> {
  const scopes = new Map(checks.map((check) => [check.name, scopeOf(check, loaded, standing)]));
  const scope = ({ check }: BrokenCheck) => scopes.get(check)!;
  const broken = await runChecks(engine, checks, ({ name }) => [...scopes.get(name)!.days]);
  const now = broken.filter((b) => b.day !== null && scope(b).calling.has(b.day));
  const isReleased = (b: BrokenCheck) => released.has(scope(b).calling.get(b.day!)!.digest);
  const blocking = now.filter((b) => b.severity === 'block' && !isReleased(b));
  if (blocking.length > 0) throw new BlockedByChecks(blocking);
  const fetchOf = (b: BrokenCheck) =>
    scope(b).brought.get(b.day ?? '') ?? scope(b).calling.get(b.day ?? '')?.fetch_id ?? '';
  const reported = new Set(now);
  const found = broken.map((b) => ({ isReported: reported.has(b), warning: { ...b, fetch_id: fetchOf(b) } }));
  return {
    warnings: found.filter(({ isReported }) => isReported).map(({ warning }) => warning),
    found: found.map(({ warning }) => warning),
    looked: checks.map((check) => ({ check, fetches: [...new Set(scopes.get(check.name)!.brought.values())] })),
  };
}

/** Where a check looks. */
interface Scope {
  /** The loaded slices that call for the check, one a day: the one of its own pipeline, where that was loaded. */
  readonly calling: ReadonlyMap<string, SliceContent>;
  /** By day, the fetch that brought what stands of the check's own pipeline: on the days that call, and on all others that it brought. */
  readonly brought: ReadonlyMap<string, string>;
  readonly days: ReadonlySet<Day>;
}

/**
 * What a check finds is counted by fetch. So it looks at all standing days of a fetch at once, whichever of them were loaded just
 * now: otherwise the count would depend on how the days were spread over publications, which differs between targets.
 */
function scopeOf(check: Check, loaded: readonly LoadSlice[], standing: Standing): Scope {
  const calling = new Map<string, SliceContent>();
  // Its own slice may be loaded already, and only its part or another pipeline's be new.
  for (const { pipeline, content } of loaded)
    if (concerns(check, pipeline) && (pipeline.name === check.pipeline || !calling.has(content.day)))
      calling.set(content.day, content);
  const days = [...calling.values()].map(({ day }) => day);
  const there = standing.get(check.pipeline) ?? new Map<Day, string>();
  const fetches = new Set(days.map((day) => there.get(day)));
  const brought = new Map([...there].filter(([, fetch]) => fetches.has(fetch)));
  return { calling, brought, days: new Set([...days, ...brought.keys()]) };
}

/** Whether a slice of the pipeline calls for the check: one of those it names, or a part of one. */
function concerns({ pipeline: name, also }: Check, pipeline: Pipeline): boolean {
  const named = [name, ...also];
  return named.includes(pipeline.name) || named.includes(parentName(pipeline));
}
