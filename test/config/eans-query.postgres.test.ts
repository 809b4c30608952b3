import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../support/postgres-database.ts';
import { defaultQuery, FOUND, PREPARATION } from './eans-query.ts';

test('on Postgres the EANs are what was sold lately, most valuable first', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    for (const sql of PREPARATION) await client.query(sql);
    const { rows } = await client.query(await defaultQuery());
    expect(rows.map(({ ean }: { ean: string }) => ean)).toEqual(FOUND);
  } finally {
    await client.end();
  }
});
