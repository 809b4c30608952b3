/** Checks in a DuckDB warehouse. */
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { type Engine, quoteText } from '../../engine/duckdb.ts';
import { CHECK_TIMEOUT_MS, type CheckEngine } from '../checking.ts';
import { type Check, noCheck } from '../checks.ts';

/** What no SELECT is wrong for: no memory or no disk was left for it. */
const NOT_ITS_FAULT = /^(?:Out of Memory|IO) Error: *([^\n]*)/;

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
        const [, lack] = NOT_ITS_FAULT.exec(messageOf(cause)) ?? [];
        if (late) throw unfinished('check_timeout', `check ${check.name} took longer than it may`, check, cause);
        if (lack === undefined) throw noCheck(check.file, messageOf(cause), cause);
        throw unfinished('check_unfinished', `check ${check.name} was not finished: ${lack}`, check, cause);
      } finally {
        done.abort();
        await watch;
      }
    },
  };
}

function unfinished(code: string, message: string, { file }: Check, cause: unknown): EtlError {
  const hint = 'limit it to the days looked at: {on_days:column}';
  return new EtlError('failed', code, message, { cause, concern: { target: 'duckdb', file }, hint });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
