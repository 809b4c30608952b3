/** A Postgres that takes TLS alone: warehouse, catalog of a DuckLake and state are reached by it, and its certificate is checked. */
import { chmod, chown, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verify } from '../../../src/run/verify/verify.ts';
import { extensionsFolder } from '../../support/extensions.ts';
import { openWorld } from '../../support/nights.ts';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { type CertificateFiles, writeCertificate } from '../../support/push.ts';

const extensions = await extensionsFolder();

let server: Postgres;
let own: CertificateFiles;
beforeAll(async () => {
  server = await startPostgres();
  const client = new pg.Client(server.url);
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
  await client.end();
  const data = rows[0]!.data_directory;
  const { uid, gid } = await stat(data);
  own = await writeCertificate(data, '127.0.0.1');
  const rules = path.join(data, 'pg_hba.conf');
  await writeFile(rules, `hostnossl all all all reject\n${await readFile(rules, 'utf8')}`);
  await writeFile(
    path.join(data, 'postgresql.auto.conf'),
    `ssl = on\nssl_cert_file = '${own.certFile}'\nssl_key_file = '${own.keyFile}'\n`,
  );
  await chmod(own.keyFile, 0o600);
  for (const file of [own.certFile, own.keyFile]) await chown(file, uid, gid);
  await server.restart('SIGINT');
});
afterAll(() => server.stop());

const night = (words: string) => {
  const url = `${server.url}${words}`;
  return openWorld({
    ordersPerDay: 10,
    lookbackDays: 2,
    postgresUrl: url,
    settings: {
      targets: { duckdb: { enabled: false } },
      ...(extensions === null ? {} : { engine: { extensions } }),
    },
    env: {
      PARTNER_ETL_STATE_URL: url,
      ...(extensions === null ? {} : { PARTNER_ETL_DUCKLAKE_URL: `ducklake:${url}` }),
    },
  });
};

it('a night by TLS is whole in every warehouse', async () => {
  const world = await night(`?sslmode=verify-full&sslrootcert=${own.certFile}`);
  try {
    expect((await world.night()).errors).toEqual([]);
    expect((await world.within(verify)).differences).toEqual([]);
    expect(await world.differences(world.lookback(), 'postgres')).toEqual([]);
  } finally {
    await world.close();
  }
});

it('another certificate is refused, and so is a way in clear', async () => {
  for (const [words, code] of [
    ['?sslmode=verify-full', 'postgres_certificate'],
    ['', 'postgres_login'],
  ] as const) {
    const world = await night(words);
    await expect(world.night()).rejects.toMatchObject({
      kind: 'usage',
      code,
      hint: expect.stringContaining('PARTNER_ETL_STATE_URL'),
    });
    await world.close();
  }
});
