/**
 * The first load of a table: its key and its indexes are made after the rows. Sorting all of them at once costs a fraction of finding the
 * place of each, the more so when an index no longer fits into the server's memory. A key that is there twice is found then.
 *
 * Measured for 1,000,000 order items on a busy machine: 48 s with the key there and the four indexes made afterwards, 41 s with the key
 * made afterwards too, 39 s with memory for it. What gained nothing and is left out: COPY with FREEZE, a commit that does not wait for
 * the disk (10 to 40 ms of all that). Several COPYs at once would be several transactions.
 */
import { stateOf } from '../../store/postgres/errors.ts';
import type { Client } from './sessions.ts';

/** Enough for the keys of some million rows to be sorted in memory. Never less than the server grants. */
const MEMORY_TO_SORT = `SELECT set_config('maintenance_work_mem', greatest(CAST(setting AS integer), 262144) || 'kB', true)
  FROM pg_settings WHERE name = 'maintenance_work_mem'`;

/** A view somebody made groups by the key, and so depends on it. */
const IN_USE = '2BP01';

interface Index {
  readonly drop: string;
  readonly make: string;
}

/**
 * Runs `fill` on a table that holds nothing, without its indexes. Only on one that never held a row: taking an index away locks out
 * readers until the transaction ends, and of a table that was only just emptied they still read the rows that were there. Who does not
 * own the table may not take its indexes away, and fills it with them.
 */
export async function filling<T>(client: Client, table: string, fill: () => Promise<T>): Promise<T> {
  const { rows: indexes } = await client.query<Index>(
    `SELECT CASE WHEN conname IS NULL THEN concat('DROP INDEX ', CAST(indexrelid AS regclass))
         ELSE concat('ALTER TABLE ', CAST(indrelid AS regclass), ' DROP CONSTRAINT ', quote_ident(conname)) END AS drop,
       CASE WHEN conname IS NULL THEN pg_get_indexdef(indexrelid)
         ELSE concat('ALTER TABLE ', CAST(indrelid AS regclass), ' ADD CONSTRAINT ', quote_ident(conname), ' ',
           pg_get_constraintdef(pg_constraint.oid)) END AS make
     FROM pg_index LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
     WHERE indrelid = CAST($1 AS regclass) AND pg_relation_size(indrelid) = 0
       AND pg_has_role((SELECT relowner FROM pg_class WHERE oid = indrelid), 'USAGE') ORDER BY indexrelid`,
    [table],
  );
  const dropped: Index[] = [];
  for (const index of indexes) if (await canDrop(client, index)) dropped.push(index);
  const filled = await fill();
  await client.query(MEMORY_TO_SORT);
  for (const { make } of dropped) await client.query(make);
  return filled;
}

/** Drops it, unless something of somebody else's depends on it. */
async function canDrop(client: Client, { drop }: Index): Promise<boolean> {
  await client.query('SAVEPOINT dropping');
  try {
    await client.query(drop);
  } catch (error) {
    if (stateOf(error) !== IN_USE) throw error;
    await client.query('ROLLBACK TO SAVEPOINT dropping');
    return false;
  }
  await client.query('RELEASE SAVEPOINT dropping');
  return true;
}
