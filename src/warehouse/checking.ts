/**
 * Running checks, alike in both engines: each is one statement around the check's SELECT, which groups what it yields by day. So a
 * check cannot write, and however many rows break it, only a count and an example a day come back.
 */
import type { Day } from '../core/days.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { noTracer, spanning } from '../core/tracer.ts';
import { quoteText } from '../engine/duckdb.ts';
import { BlockedByChecks, type BrokenCheck, type Check, sqlOn } from './checks.ts';
import { onDays } from './slice-sql.ts';
import type { CheckWarning, LoadSlice, Publication } from './target.ts';

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

/** What breaks the checks on the days that `daysOf` tells of each, or on any where it is null. */
export async function runChecks(
  engine: CheckEngine,
  checks: readonly Check[],
  daysOf: ((check: Check) => readonly Day[]) | null,
): Promise<BrokenCheck[]> {
  const broken: BrokenCheck[] = [];
  for (const check of checks) {
    const on = daysOf?.(check) ?? null;
    if (on?.length === 0) continue;
    const { name, severity, pipeline, about, mend } = check;
    for (const { day, field, found, example } of await engine.rows(check, statementOf(engine, check, on)))
      broken.push({
        check: name,
        severity,
        pipeline,
        about,
        mend,
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

/**
 * Checks what a publication has loaded, `loaded` being those of its slices; to be called inside its transaction, when its receipts
 * are written. Returns what it is published in spite of. Errors: `BlockedByChecks`, which names every slice that must be left out.
 */
export async function checkLoaded(
  engine: CheckEngine,
  publication: Publication,
  loaded: readonly LoadSlice[],
): Promise<CheckWarning[]> {
  const { tracer = noTracer, checks = [] } = publication;
  return spanning(tracer, 'checks', { checks: checks.length }, () => standingChecks(engine, publication, loaded));
}

async function standingChecks(
  engine: CheckEngine,
  { checks = [], released = new Set() }: Publication,
  loaded: readonly LoadSlice[],
): Promise<CheckWarning[]> {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const slicesFor = (check: Check) => loaded.filter(({ pipeline }) => concerns(check, pipeline));
  const broken = await runChecks(engine, checks, (check) => [
    ...new Set(slicesFor(check).map(({ content }) => content.day)),
  ]);
  // The check's own slice may be loaded already, and only its part or another pipeline's be new.
  const contentOf = ({ check, pipeline, day }: BrokenCheck) => {
    const known = byName.get(check);
    const slices = known ? slicesFor(known).filter(({ content }) => content.day === day) : [];
    return (slices.find((slice) => slice.pipeline.name === pipeline) ?? slices[0])?.content;
  };
  const blocking = broken.filter((b) => b.severity === 'block' && !released.has(contentOf(b)?.digest ?? ''));
  if (blocking.length > 0) throw new BlockedByChecks(blocking);
  return broken.map((b) => ({ ...b, fetch_id: contentOf(b)?.fetch_id ?? '' }));
}

/** Whether a slice of the pipeline calls for the check: one of those it names, or a part of one. */
function concerns({ pipeline, also }: Check, { name, source }: Pipeline): boolean {
  const named = [pipeline, ...also];
  return named.includes(name) || (source.kind === 'part' && named.includes(source.of));
}

/** `check:<name>`, as `etl.drift` calls it. */
export function driftKind({ check }: BrokenCheck): string {
  return `check:${check}`;
}

/** What `etl.drift` names beside it. */
export function driftField({ field }: BrokenCheck): string {
  return field ?? 'slice_day';
}

/**
 * Statements that write the warnings beside the drift of the fetches that brought the slices, in place of those that were
 * there; they come behind the recording of the publication, which replaces the drift of its fetches.
 */
export function recordingOf(warnings: readonly CheckWarning[], loaded: readonly LoadSlice[], at: string): string[] {
  const fetches = [...new Set(loaded.map(({ content }) => quoteText(content.fetch_id)))];
  if (fetches.length === 0) return [];
  const summed = new Map<string, CheckWarning>();
  for (const warning of warnings) {
    const name = [warning.pipeline, warning.fetch_id, warning.check, driftField(warning)].join(' ');
    const known = summed.get(name);
    summed.set(name, known ? { ...known, rows: known.rows + warning.rows } : warning);
  }
  const values = [...summed.values()].map((warning) => {
    const { pipeline, fetch_id, rows, example } = warning;
    const texts = [pipeline, fetch_id, driftKind(warning), driftField(warning)].map(quoteText);
    return `(${texts.join(', ')}, ${rows}, ${quoteText(example)}, TIMESTAMPTZ ${quoteText(at)})`;
  });
  const pipelines = [...new Set(loaded.map(({ pipeline }) => quoteText(pipeline.name)))];
  const forget = `DELETE FROM etl.drift_by_fetch WHERE kind LIKE 'check:%' AND pipeline IN (${pipelines.join(', ')})
    AND fetch_id IN (${fetches.join(', ')})`;
  if (values.length === 0) return [forget];
  return [
    forget,
    `INSERT INTO etl.drift_by_fetch (pipeline, fetch_id, kind, field, count, example, seen_at) VALUES ${values.join(', ')}`,
  ];
}
