/** Checks in a DuckDB warehouse. */
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { type Engine, quoteText } from '../../engine/duckdb.ts';
import { CHECK_TIMEOUT_MS, type CheckEngine } from '../checking.ts';
import { noCheck } from '../checks.ts';

export function duckdbChecks(engine: Engine, clock: Clock): CheckEngine {
  return {
    // query() takes the text of exactly one SELECT, so nothing in it can end the statement around it.
    source: (select) => `query(${quoteText(select)})`,
    async prove(check, statement) {
      try {
        (await engine.connection.prepare(statement)).destroySync();
      } catch (cause) {
        throw noCheck(check.file, messageOf(cause), cause);
      }
    },
    async rows(check, statement) {
      const done = new AbortController();
      let late = false;
      const watch = clock.sleep(CHECK_TIMEOUT_MS, done.signal).then(
        () => {
          late = true;
          engine.connection.interrupt();
        },
        () => undefined, // it ended in time
      );
      try {
        return await engine.rows(statement);
      } catch (cause) {
        if (!late) throw noCheck(check.file, messageOf(cause), cause);
        throw new EtlError('failed', 'check_timeout', `check ${check.name} took longer than it may`, {
          cause,
          concern: { target: 'duckdb', file: check.file },
          hint: 'limit it to the days looked at: {on_days:column}',
        });
      } finally {
        done.abort();
        await watch;
      }
    },
  };
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
