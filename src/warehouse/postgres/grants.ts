/** Rights that others were given to tables, views and functions, so that these can be made anew without anybody losing one. */
import { quoteName } from '../../engine/duckdb.ts';
import type { Client } from './sessions.ts';

/** Statements that give the rights again that there are now on these things, each named with its schema; what is not there has none. */
export async function grantsOn(client: Client, names: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<Grant>(
    `WITH given AS (
       SELECT 'TABLE' AS kind, format('%I.%I', nspname, relname) AS thing, NULL AS "column", relowner AS owner, relacl AS acl
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind IN ('r', 'v') AND nspname || '.' || relname = ANY($1)
       UNION ALL
       SELECT 'TABLE', format('%I.%I', nspname, relname), attname, relowner, attacl
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind IN ('r', 'v') AND nspname || '.' || relname = ANY($1)
       UNION ALL
       SELECT 'FUNCTION', format('%I.%I', nspname, proname), NULL, proowner, proacl
       FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
       WHERE nspname || '.' || proname = ANY($1)
     )
     SELECT kind, thing, "column", privilege_type AS privilege, is_grantable AS "isGrantable",
       CASE WHEN grantee = 0 THEN NULL ELSE pg_get_userbyid(grantee) END AS grantee
     FROM given CROSS JOIN LATERAL aclexplode(acl)
     WHERE grantee <> owner
     ORDER BY thing, "column" NULLS FIRST, grantee, privilege`,
    [names],
  );
  const functions = await client.query<{ thing: string }>(
    `SELECT format('%I.%I', nspname, proname) AS thing FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
     WHERE nspname || '.' || proname = ANY($1) AND proacl IS NOT NULL`,
    [names],
  );
  // Who makes a function lets everybody carry it out: what is not wanted any more is taken back first.
  return [...functions.rows.map(({ thing }) => `REVOKE ALL ON FUNCTION ${thing} FROM PUBLIC`), ...rows.map(statement)];
}

interface Grant {
  readonly kind: 'TABLE' | 'FUNCTION';
  readonly thing: string;
  readonly column: string | null;
  readonly privilege: string;
  readonly isGrantable: boolean;
  /** Null: everybody. */
  readonly grantee: string | null;
}

function statement({ kind, thing, column, privilege, isGrantable, grantee }: Grant): string {
  const columns = column === null ? '' : ` (${quoteName(column)})`;
  const who = grantee === null ? 'PUBLIC' : quoteName(grantee);
  return `GRANT ${privilege}${columns} ON ${kind} ${thing} TO ${who}${isGrantable ? ' WITH GRANT OPTION' : ''}`;
}
