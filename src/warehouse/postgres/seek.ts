/** Statements that look a share of a long table up, row by row. */
import type { Client } from './sessions.ts';

/**
 * What a page out of order may cost beside one in order. The server's own 4 are for disks that have to move an arm: with them it reads
 * all of a long history to find one row in fifty (28 million versions, those of 45 days: 39 s instead of 3.5).
 */
const COST_OF_SEEKING = 1.1;

/** Runs the statement with seeking as cheap as that, or as the server's settings say where that is cheaper yet. In a transaction. */
export async function seek(client: Client, sql: string): Promise<unknown> {
  const { rows } = await client.query<{ cost: string }>(
    `SELECT setting AS cost, set_config('random_page_cost', CAST(least(CAST(setting AS float8), ${COST_OF_SEEKING}) AS text), true)
     FROM pg_settings WHERE name = 'random_page_cost'`,
  );
  const result = await client.query(sql);
  await client.query("SELECT set_config('random_page_cost', $1, true)", [rows[0]?.cost]);
  return result;
}
