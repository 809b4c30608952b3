/**
 * What checks find, as rows of `etl.drift_by_fetch`. Rows of this kind are written here and nowhere else, and they say what this
 * target's own checks found: what a run has noted of another target is not recorded a second time (`recordDrift` passes it over).
 *
 * Invariant, also where no key holds it: one row a pipeline, fetch, check and field. Every row that is written is summed over the
 * days of its fetch, and what lay there of that check and that fetch is deleted before.
 */
import { ACCOUNT } from '../../core/account.ts';
import { quoteText } from '../../engine/duckdb.ts';
import { OF_ACCOUNT } from '../table-sql.ts';
import type { CheckWarning, LoadSlice } from '../target.ts';
import type { Checked } from './checking.ts';
import type { BrokenCheck } from './checks.ts';

const KIND = 'check:';

/** `check:<name>`, as `etl.drift` calls it. */
export function driftKind({ check }: Pick<BrokenCheck, 'check'>): string {
  return `${KIND}${check}`;
}

export function isCheckKind(kind: string): boolean {
  return kind.startsWith(KIND);
}

/** A LIKE pattern. */
export const CHECK_KINDS = `${KIND}%`;

/** What `etl.drift` names beside it. */
export function driftField({ field }: BrokenCheck): string {
  return field ?? 'slice_day';
}

/** Statements that write what was found, in place of what was there of the same checks and fetches, and of the loaded slices. */
export function recordingOf({ found, looked }: Checked, loaded: readonly LoadSlice[], at: string): string[] {
  const rows = [...summed(found).values()];
  const gone: string[] = [];
  const forget = (where: string, fetches: Iterable<string>) => {
    const ids = [...new Set(fetches)].map(quoteText);
    if (ids.length > 0) gone.push(`${where} AND fetch_id IN (${ids.join(', ')})`);
  };
  const names = [...new Set(loaded.map(({ pipeline }) => quoteText(pipeline.name)))];
  // Also of checks that there are no more.
  forget(
    `kind LIKE ${quoteText(CHECK_KINDS)} AND pipeline IN (${names.join(', ')})`,
    loaded.map(({ content }) => content.fetch_id),
  );
  for (const { check, fetches } of looked) {
    const kind = driftKind({ check: check.name });
    const written = rows.filter((row) => row.check === check.name).map(({ fetch_id }) => fetch_id);
    forget(`kind = ${quoteText(kind)} AND pipeline = ${quoteText(check.pipeline)}`, [...fetches, ...written]);
  }
  // One statement: in a DuckLake each takes tens of milliseconds.
  const statements =
    gone.length === 0
      ? []
      : [`DELETE FROM etl.drift_by_fetch WHERE ${OF_ACCOUNT} AND (${gone.map((one) => `(${one})`).join(' OR ')})`];
  const values = rows.map((row) => {
    const texts = [ACCOUNT, row.pipeline, row.fetch_id, driftKind(row), driftField(row)].map(quoteText);
    return `(${texts.join(', ')}, ${row.rows}, ${quoteText(row.example)}, TIMESTAMPTZ ${quoteText(at)})`;
  });
  if (values.length > 0)
    statements.push(
      `INSERT INTO etl.drift_by_fetch (account, pipeline, fetch_id, kind, field, count, example, seen_at) VALUES ${values.join(', ')}`,
    );
  return statements;
}

function summed(found: readonly CheckWarning[]): Map<string, CheckWarning> {
  const sums = new Map<string, CheckWarning>();
  for (const warning of found) {
    const name = JSON.stringify([warning.pipeline, warning.fetch_id, warning.check, driftField(warning)]);
    const known = sums.get(name);
    sums.set(name, known ? { ...known, rows: known.rows + warning.rows } : warning);
  }
  return sums;
}
