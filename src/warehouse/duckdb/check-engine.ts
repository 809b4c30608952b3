/** Checks in a DuckDB warehouse. */
import type { Clock } from '../../core/clock.ts';
import { type Engine, quoteText } from '../../engine/duckdb.ts';
import { CHECK_TIMEOUT_MS, type CheckEngine } from '../checks/checking.ts';
import { noCheck, unfinished } from '../checks/checks.ts';
import type { TargetName } from '../target-name.ts';

/** What no SELECT is wrong for: no memory or no disk was left for it. */
const NOT_ITS_FAULT = /^(?:Out of Memory|IO) Error: *([^\n]*)/;

export function duckdbChecks(engine: Engine, clock: Clock, target: TargetName): CheckEngine {
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
        if (late) throw unfinished(target, check, cause, null);
        const [, lack] = NOT_ITS_FAULT.exec(messageOf(cause)) ?? [];
        throw lack === undefined
          ? noCheck(check.file, messageOf(cause), cause)
          : unfinished(target, check, cause, lack);
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
