/** An analyst's statement on a Postgres warehouse, in a read-only transaction. */
import type { QueryArrayResult } from 'pg';
import { EtlError } from '../../core/errors.ts';
import type { QueryResult } from '../target.ts';
import { stateOf } from './errors.ts';
import type { Client, Sessions } from './sessions.ts';

type Cell = string | boolean | null;

const STATEMENT_TIMEOUT_MS = 600_000;
const BOOLEAN_OID = 16;

/** Values as the server writes them; only booleans become booleans. */
const AS_TEXT = {
  getTypeParser: (oid: number) => (oid === BOOLEAN_OID ? (text: string) => text === 't' : (text: string) => text),
};

/**
 * The first `limit` rows; the server makes one row more at the most.
 * Errors: `usage/sql` with the server's message; `retry/…` when the connection was lost.
 */
export async function runQuery(sessions: Sessions, sql: string, limit: number): Promise<QueryResult> {
  const options = { readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  return sessions.transaction(options, async (client) => {
    try {
      const { fields, rows } = await firstRows(client, sql, limit + 1);
      return {
        columns: fields.map((field) => field.name),
        rows: rows.slice(0, limit),
        truncated: rows.length > limit,
      };
    } catch (cause) {
      if (stateOf(cause) === null || stateOf(cause)?.startsWith('57P')) throw cause;
      throw new EtlError('usage', 'sql', (cause as Error).message, {
        cause,
        concern: { target: 'postgres' },
        hint: 'the warehouse is queried by one read-only statement (SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN)',
      });
    }
  });
}

async function firstRows(client: Client, sql: string, rows: number): Promise<QueryArrayResult<Cell[]>> {
  // SHOW and EXPLAIN cannot be read through a cursor; what they return is short.
  if (/^\s*(show|explain)\b/i.test(sql)) return asText(client, sql);
  await single(client, `DECLARE asked NO SCROLL CURSOR FOR ${sql}`);
  return asText(client, `FETCH FORWARD ${rows} FROM asked`);
}

/** Parameters, even none, make pg use the protocol that takes one statement only. */
function single(client: Client, text: string): Promise<unknown> {
  return client.query({ text, queryMode: 'extended' } as never);
}

function asText(client: Client, text: string): Promise<QueryArrayResult<Cell[]>> {
  return client.query({ text, rowMode: 'array', types: AS_TEXT, queryMode: 'extended' } as never) as never;
}
