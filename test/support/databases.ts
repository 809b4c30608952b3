/** Databases on a throw-away server, for tests and for kits that run without them. */
import pg from 'pg';

export interface Database {
  readonly url: string;
  drop(): Promise<void>;
}

export async function makeDatabase(
  serverUrl: string,
  name: string,
  template: Database | null = null,
): Promise<Database> {
  const quoted = `"${name}"`;
  const from = template === null ? '' : ` TEMPLATE "${new URL(template.url).pathname.slice(1)}"`;
  await administer(serverUrl, `CREATE DATABASE ${quoted}${from}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(serverUrl, `DROP DATABASE ${quoted} WITH (FORCE)`) };
}

export async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
