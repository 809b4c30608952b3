/** Checks in a Postgres warehouse, inside a transaction. */

import { stateOf } from '../../store/postgres/errors.ts';
import { CHECK_TIMEOUT_MS, type CheckEngine } from '../checks/checking.ts';
import { type Check, noCheck, unfinished } from '../checks/checks.ts';
import type { Client } from './sessions.ts';

const TIMED_OUT = '57014';
/** What is the server's or the connection's fault: full disk, too busy, shut down. */
const NOT_ITS_FAULT = /^(?:08|40|53|55|57P)/;

/** The transaction is read-only while it checks, whatever it was before: rolling back to the savepoint brings that back. */
export async function withoutWriting<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query(
    `SAVEPOINT checking; SET LOCAL transaction_read_only = on; SET LOCAL statement_timeout = ${CHECK_TIMEOUT_MS}`,
  );
  const result = await work();
  await client.query('ROLLBACK TO SAVEPOINT checking; RELEASE SAVEPOINT checking');
  return result;
}

export function postgresChecks(client: Client): CheckEngine {
  const single = async (check: Check, text: string) => {
    try {
      // This protocol takes one statement only.
      return (await client.query({ text, queryMode: 'extended' } as never)) as unknown as {
        readonly rows: readonly Readonly<Record<string, unknown>>[];
      };
    } catch (cause) {
      const state = stateOf(cause);
      if (state === null || NOT_ITS_FAULT.test(state)) throw cause;
      if (state !== TIMED_OUT) throw noCheck(check.file, (cause as Error).message, cause);
      throw unfinished('postgres', check, cause, null);
    }
  };
  return {
    source: (select) => `(\n${select}\n)`,
    prove: async (check, statement) => void (await single(check, `EXPLAIN ${statement}`)),
    rows: async (check, statement) => (await single(check, statement)).rows,
  };
}
