import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { PushLines } from '../../src/extract/push-lines.ts';
import { deliveryOf } from '../support/inbox.ts';
import { freshDatabase } from '../support/postgres-database.ts';
import { linesIn } from './lookup-scene.ts';

const DEEP = `${'['.repeat(50)}1${']'.repeat(50)}`;
const VALUES = [
  '1e1000',
  '-1e-1000',
  '1e1001',
  '1e999999',
  `${'9'.repeat(20_000)}.${'9'.repeat(20_000)}`,
  '"\\u0000\\ud800"',
  '{"":[]}',
  DEEP,
];

test('whatever JSON a message holds, Postgres can hold what its line says', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-push-lines-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const lines = await PushLines.open(folder, 'push-messages', 'UTC');
  const event = (value: string) =>
    `{"resource":"SHIPMENT","type":"x","resourceId":"1","metadata":[{"key":${value}}],"links":[{"href":${value}}],"other":${value}}`;
  await lines.take(
    'f1',
    stored(VALUES.map((value) => `{"retailerId":1,"timestamp":"2026-03-20T02:00:00Z","event":${event(value)}}`)),
  );
  const { file } = await lines.close();
  const told = await linesIn(file);
  expect(told).toHaveLength(VALUES.length);

  const database = await freshDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  await expect(client.query(`SELECT '1e999999'::jsonb`)).rejects.toThrow();
  for (const { metadata, links, _x } of told) {
    const { rows } = await client.query(
      'SELECT $1::jsonb IS NOT NULL AND $2::jsonb IS NOT NULL AND $3::jsonb IS NOT NULL AS held',
      [metadata, links, _x],
    );
    expect(rows).toEqual([{ held: true }]);
  }
});

async function* stored(bodies: readonly string[]) {
  for (const [i, body] of bodies.entries()) yield { ...deliveryOf(body), deliveryId: `d${i}` };
}
