/** A database of one's own on the throw-away server. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface Database {
  readonly url: string;
  drop(): Promise<void>;
}

/** Only in files called `*.postgres.test.ts`. */
export async function freshDatabase(): Promise<Database> {
  const server = inject('pgUrl');
  const name = `t_${randomBytes(6).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
