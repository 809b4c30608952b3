/**
 * The first load of a table: its indexes are made after the rows. Sorting all of them at once costs a fraction of finding the place of
 * each, the more so when an index no longer fits into the server's memory. Keys stay, as they find what is there twice.
 */
import type { Client } from './sessions.ts';

/**
 * Runs `fill` on a table that holds nothing, without its indexes. Only on one that never held a row: taking an index away locks out
 * readers until the transaction ends, and of a table that was only just emptied they still read the rows that were there. Who does not
 * own the table may not take its indexes away, and fills it with them.
 */
export async function filling<T>(client: Client, table: string, fill: () => Promise<T>): Promise<T> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT CAST(indexrelid AS regclass)::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = CAST($1 AS regclass) AND NOT indisunique AND pg_relation_size(indrelid) = 0
       AND pg_has_role((SELECT relowner FROM pg_class WHERE oid = indrelid), 'USAGE') ORDER BY indexrelid`,
    [table],
  );
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  const filled = await fill();
  for (const { definition } of indexes) await client.query(definition);
  return filled;
}
