/** An analyst's statement on a Postgres warehouse, in a read-only transaction. */
import type { FieldDef, QueryArrayResult } from 'pg';
import { EtlError } from '../../core/errors.ts';
import { stateOf } from '../../store/postgres/errors.ts';
import type { AnswerColumn, AnswerRow, ColumnKind, QueryResult, ReadAnswer } from '../target.ts';
import type { Client, Sessions } from './sessions.ts';

const STATEMENT_TIMEOUT_MS = 600_000;
const BOOLEAN_OID = 16;
/** int8, int2, int4, oid; numeric; float4, float8. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  ...{ 20: 'whole', 21: 'whole', 23: 'whole', 26: 'whole' },
  ...{ 1700: 'decimal', 700: 'float', 701: 'float', [BOOLEAN_OID]: 'boolean' },
};
/** Rows that are asked of the server at once: one at first, then as many as fit into so many bytes if all were as large as the largest. */
const BATCH_ROWS = 2000;
const BATCH_BYTES = 32 * 1024 * 1024;

/** Values as the server writes them; only booleans become booleans. */
const AS_TEXT = {
  getTypeParser: (oid: number) => (oid === BOOLEAN_OID ? (text: string) => text === 't' : (text: string) => text),
};

/**
 * The first `limit` rows; the server makes one row more at the most.
 * Errors: `usage/sql` with the server's message; `retry/…` when the connection was lost.
 */
export async function runQuery(sessions: Sessions, sql: string, limit: number): Promise<QueryResult> {
  return sessions.transaction(READING, async (client) => {
    const { fields, rows } = await refusing(async () => (await opened(client, sql)).next(limit + 1));
    return { columns: fields.map(({ name }) => name), rows: rows.slice(0, limit), truncated: rows.length > limit };
  });
}

/** Every row up to `limit`, batch by batch, through a cursor. Errors: as of `runQuery`, also while it is read, and those of `read`. */
export async function runStream(
  sessions: Sessions,
  sql: string,
  limit: number | null,
  read: ReadAnswer,
): Promise<boolean> {
  return sessions.transaction(READING, async (client) => {
    const most = limit ?? Number.POSITIVE_INFINITY;
    const cursor = await refusing(() => opened(client, sql));
    const first = await refusing(() => cursor.next(1));
    let left = most;
    let widest = 1;
    let isCut = false;
    async function* batches(): AsyncGenerator<readonly AnswerRow[]> {
      for (let { rows } = first; rows.length > 0; ) {
        isCut = rows.length > left;
        yield isCut ? rows.slice(0, left) : rows;
        left -= rows.length;
        if (isCut || !cursor.hasMore) return;
        widest = rows.reduce((bytes, row) => Math.max(bytes, sizeOf(row)), widest);
        const wanted = Math.min(rows.length * 4, BATCH_ROWS, Math.max(1, Math.floor(BATCH_BYTES / widest)), left + 1);
        ({ rows } = await refusing(() => cursor.next(wanted)));
      }
    }
    await read(first.fields.map(columnOf), batches());
    return isCut;
  });
}

function sizeOf(row: AnswerRow): number {
  return row.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0), 0);
}

const READING = { readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS };

/** Errors: `usage/sql` in the place of what the server says of the statement. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (stateOf(cause) === null || stateOf(cause)?.startsWith('57P')) throw cause;
    throw new EtlError('usage', 'sql', (cause as Error).message, {
      cause,
      concern: { target: 'postgres' },
      hint: 'the warehouse is queried by one read-only statement (SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN)',
    });
  }
}

interface Cursor {
  readonly hasMore: boolean;
  next(rows: number): Promise<QueryArrayResult<string[]>>;
}

/** SHOW and EXPLAIN cannot be read through a cursor; what they return is short. */
async function opened(client: Client, sql: string): Promise<Cursor> {
  if (SHOWS.test(sql)) return { hasMore: false, next: () => asText(client, sql) };
  await single(client, `DECLARE asked NO SCROLL CURSOR FOR ${sql}`);
  return { hasMore: true, next: (rows) => asText(client, `FETCH FORWARD ${rows} FROM asked`) };
}

/** Comments may stand in front. */
const SHOWS = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(?:show|explain)\b/i;

function columnOf({ name, dataTypeID }: FieldDef): AnswerColumn {
  return { name, kind: KINDS[dataTypeID] ?? 'other' };
}

/** Parameters, even none, make pg use the protocol that takes one statement only. */
function single(client: Client, text: string): Promise<unknown> {
  return client.query({ text, queryMode: 'extended' } as never);
}

function asText(client: Client, text: string): Promise<QueryArrayResult<string[]>> {
  return client.query({ text, rowMode: 'array', types: AS_TEXT, queryMode: 'extended' } as never) as never;
}
