/** What another user of the machine can see and do: modes of files under any umask, arguments of processes. */
import { spawn } from 'node:child_process';
import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';

let sandbox: Sandbox;
let cwd: string;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1, ordersPerDay: 50, now: () => Date.parse('2026-03-20T02:00:00Z') });
  cwd = await mkdtemp(path.join(tmpdir(), 'etl-others-'));
});
afterAll(async () => {
  await sandbox.close();
  await rm(cwd, { recursive: true, force: true });
});

/** Runs the program under an umask in a shell; `seen` is told its process id while it is at work. */
async function started(
  umask: string,
  home: string,
  words: readonly string[],
  seen?: (pid: number) => Promise<void>,
): Promise<number | null> {
  const secret = path.join(cwd, 'secret');
  await writeFile(secret, sandbox.clientSecret, { mode: 0o600 });
  const env = {
    PATH: process.env.PATH,
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_AUTH_URL: sandbox.authUrl,
    PARTNER_CLIENT_ID: sandbox.clientId,
    PARTNER_CLIENT_SECRET_FILE: secret,
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_TODAY: '2026-03-20',
  };
  const script = path.join(inject('build'), 'src/main.js');
  const child = spawn('/bin/sh', ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, script, ...words], {
    cwd,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await seen?.(child.pid!);
  return ended;
}

/** Everything under a folder with its mode in octal. */
async function modesIn(folder: string): Promise<[string, number][]> {
  const names = ['', ...(await readdir(folder, { recursive: true }))];
  return Promise.all(
    names.map(async (name) => [name, (await lstat(path.join(folder, name))).mode & 0o777] as [string, number]),
  );
}

describe('files of the home directory', () => {
  it('are for their owner alone, whatever the umask', async () => {
    const home = path.join(cwd, 'open');
    expect(await started('000', home, ['run', 'orders', 'promotions'])).toBe(0);
    const modes = await modesIn(home);
    expect(modes.length).toBeGreaterThan(50);
    expect(modes.filter(([, mode]) => (mode & 0o077) !== 0)).toEqual([]);
    expect(modes.filter(([name]) => name === 'state.db' || name.startsWith('locks/')).length).toBeGreaterThan(1);
  });

  it('keep a mode that the owner has given the warehouse', async () => {
    const file = path.join(cwd, 'open', 'warehouse.duckdb');
    await chmod(file, 0o644);
    expect(await started('077', path.join(cwd, 'open'), ['rebuild'])).toBe(0);
    expect(await started('077', path.join(cwd, 'open'), ['run', 'commissions'])).toBe(0);
    expect((await lstat(file)).mode & 0o777).toBe(0o644);
  });

  it('hold the secret and the token nowhere but in the state', async () => {
    const home = path.join(cwd, 'open');
    const state = await openSqliteState(path.join(home, 'state.db'));
    const { access_token: token } = await state.db.selectFrom('token').select('access_token').executeTakeFirstOrThrow();
    await state.close();
    expect(token).toMatch(/^\S{8}/);
    for (const name of await readdir(home, { recursive: true })) {
      if (!(await lstat(path.join(home, name))).isFile()) continue;
      const bytes = await readFile(path.join(home, name));
      expect([name, bytes.includes(sandbox.clientSecret)]).toEqual([name, false]);
      if (!/^(?:state\.db|backups\/)/.test(name)) expect([name, bytes.includes(token!)]).toEqual([name, false]);
    }
  });
});

it('arguments of the process, which everybody can see, hold no secret', async () => {
  let seen = '';
  const look = async (pid: number) => {
    const program = `${process.execPath}\0`;
    const read = () => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => `${program}run, where there is no /proc`);
    // First these are the shell's, then for a moment there are none.
    while (!seen.startsWith(program)) seen = await read();
  };
  expect(await started('022', path.join(cwd, 'seen'), ['run', 'orders'], look)).toBe(0);
  expect(seen).toContain('run');
  expect(seen).not.toContain(sandbox.clientSecret);
});
