/** What the first version left behind; see test/fixtures/homes/README.md. */
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Day } from '../../src/core/days.ts';
import { openWorld, packageRoot, type World } from './nights.ts';

const ARCHIVE = path.join(packageRoot, 'test', 'fixtures', 'homes', 'first.tar.gz');

/** A world whose home directory is the first version's, on the morning after the last of its nights; that version's settings too. */
export async function openFirstWorld(postgresUrl?: string): Promise<World> {
  const world = await openWorld({
    ordersPerDay: 50,
    lookbackDays: 4,
    windowDays: 4,
    today: '2026-03-22' as Day,
    ...(postgresUrl === undefined ? {} : { postgresUrl }),
  });
  await unpack('home', world.home, ['--strip-components=1', '--exclude=home/settings.yaml']);
  return world;
}

/** The text of the settings file that came with it. */
export async function firstSettings(): Promise<string> {
  return withUnpacked('home/settings.yaml', (folder) => readFile(path.join(folder, 'home', 'settings.yaml'), 'utf8'));
}

/** Fills an empty database with the first version's warehouse. */
export async function restoreFirstWarehouse(url: string): Promise<void> {
  await withUnpacked('postgres', async (folder) => {
    const place = path.join(folder, 'postgres');
    const names = (await readdir(place)).sort();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const name of names.filter((n) => n.endsWith('.sql')))
        await client.query(await readFile(path.join(place, name), 'utf8'));
      for (const name of names.filter((n) => n.endsWith('.copy'))) {
        const table = path.basename(name, '.copy');
        await pipeline(createReadStream(path.join(place, name)), client.query(copyFrom(`COPY ${table} FROM STDIN`)));
      }
    } finally {
      await client.end();
    }
  });
}

async function withUnpacked<T>(part: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etl-first-'));
  try {
    await unpack(part, folder, []);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function unpack(part: string, into: string, options: readonly string[]): Promise<void> {
  await promisify(execFile)('tar', ['-xzf', ARCHIVE, '-C', into, ...options, part]);
}
