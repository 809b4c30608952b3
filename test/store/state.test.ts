import { mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqliteState, proveSqliteFile } from '../../src/store/sqlite/state.ts';
import { inboxConformance } from './conformance/inbox.ts';
import { slicesConformance } from './conformance/slices.ts';
import { smallStateConformance } from './conformance/small-state.ts';
import { type StatePlace, stateConformance } from './conformance.ts';

async function newFolder(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), 'partner-etl-state-'));
}

async function sqlitePlace(): Promise<StatePlace> {
  const folder = await newFolder();
  const open = () => openSqliteState(path.join(folder, 'state.db'));
  return {
    open,
    async setVersion(version) {
      const state = await open();
      await state.write((tx) => tx.updateTable('state_version').set({ version }).execute());
      await state.close();
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

stateConformance(sqlitePlace);
smallStateConformance(sqlitePlace);
inboxConformance(sqlitePlace);
slicesConformance(sqlitePlace);

describe('the file', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await newFolder();
    file = path.join(folder, 'home', 'state.db');
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('it and what lies beside it can be read by its owner alone', async () => {
    const state = await openSqliteState(file);
    const modes = await Promise.all(
      ['', '-wal', '-shm'].map(async (end) => (await stat(`${file}${end}`)).mode & 0o777),
    );
    await state.close();
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });

  test('a link in its place is refused, and what it leads to stays as it is', async () => {
    const precious = path.join(folder, 'precious');
    await writeFile(precious, 'precious', { mode: 0o644 });
    await mkdir(path.dirname(file));
    await symlink(precious, file);
    await expect(openSqliteState(file)).rejects.toMatchObject({
      code: 'foreign_state',
      message: expect.stringContaining('a link'),
    });
    expect([await readFile(precious, 'utf8'), (await stat(precious)).mode & 0o777]).toEqual(['precious', 0o644]);
  });

  test('made anew holds nothing that was deleted', async () => {
    const state = await openSqliteState(file);
    const name = 'somebody-4711';
    await state.write((tx) =>
      tx
        .insertInto('memo')
        .values({ account: 'default', name, value: name.repeat(3000), noted_at: '' })
        .execute(),
    );
    await state.write((tx) => tx.deleteFrom('memo').where('name', '=', name).execute());
    const traces = async () =>
      Promise.all(['', '-wal'].map(async (end) => (await readFile(`${file}${end}`)).includes(name)));
    expect(await traces()).toContain(true);
    await state.compact();
    expect(await traces()).toEqual([false, false]);
    await state.close();
  });

  test('what is no database is refused by name, with what to do', async () => {
    await (await openSqliteState(file)).close();
    for (const end of ['-wal', '-shm']) await rm(`${file}${end}`, { force: true });
    await writeFile(file, 'no database at all, but long enough to be one');
    await expect(openSqliteState(file)).rejects.toMatchObject({
      kind: 'failed',
      code: 'damaged_state',
      message: expect.stringContaining(file),
      hint: expect.stringContaining('rebuild --state'),
    });
  });

  test('a damaged page is found by the proof', async () => {
    const state = await openSqliteState(file);
    await state.write(async (tx) => {
      for (let i = 0; i < 500; i++)
        await tx
          .insertInto('memo')
          .values({ account: 'default', name: `name ${i}`, value: 'x'.repeat(200), noted_at: '' })
          .execute();
    });
    await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(state.db);
    await state.close();
    proveSqliteFile(file);
    for (const end of ['-wal', '-shm']) await rm(`${file}${end}`, { force: true });
    const { size } = await stat(file);
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(4096, 7), 0, 4096, Math.floor(size / 2 / 4096) * 4096);
    await handle.close();
    expect(() => proveSqliteFile(file)).toThrow(expect.objectContaining({ code: 'damaged_state' }));
  });
});
