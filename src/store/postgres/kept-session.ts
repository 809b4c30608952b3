/**
 * Whether a connection to Postgres keeps its session. Behind a pooler in transaction mode it has one from statement to statement only, and
 * a lock that a session holds is anybody's.
 */

const OWN = 'SELECT pg_backend_pid() AS pid';

interface Asks {
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: unknown }[] }>;
}

/** Both are open; `other` is asked between two statements of `one`, so a pooler gives it the session that was free last. */
export async function keepsSession(one: Asks, other: Asks): Promise<boolean> {
  const before = await pidOf(one);
  const between = await pidOf(other);
  return before !== between && before === (await pidOf(one));
}

async function pidOf(client: Asks): Promise<number> {
  const { rows } = await client.query(OWN);
  return Number(rows[0]?.pid);
}
