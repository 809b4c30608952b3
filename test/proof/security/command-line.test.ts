/** What somebody types who wants more than a command gives: every attempt is wrong usage, told in a few lines, and nothing happens. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../cli/surroundings.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'etl-typed-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

const LONG = 'x'.repeat(100_000);
const env = {
  PARTNER_BASE_URL: 'http://127.0.0.1:9',
  PARTNER_AUTH_URL: 'http://127.0.0.1:9',
  PARTNER_CLIENT_ID: 'somebody',
  PARTNER_CLIENT_SECRET: 's3cret-s3cret',
};

const range = ['--from', '2026-03-01', '--to', '2026-03-02'];

describe('refused as wrong usage', () => {
  test.each<[string, readonly string[]]>([
    ['a path for a pipeline', ['run', '../../etc/passwd']],
    ['an option for a pipeline', ['run', '--', '--quiet']],
    ['a member of every object for a pipeline', ['backfill', '__proto__', ...range]],
    ['the same for explain', ['explain', 'constructor', '2026-03-01']],
    ['a pipeline with NUL', ['replay', 'orders\0', ...range]],
    ['a pipeline of 100,000 letters', ['run', LONG]],
    ['a path for a day', ['explain', 'orders', '../2026-03-01']],
    ['SQL for a day', ['release', 'orders', "2026-03-01'; DROP TABLE warehouse.fact_order_item; --"]],
    ['a day that is an option', ['backfill', 'orders', '--from=--to', '--to=2026-03-01']],
    ['a day that no calendar has', ['backfill', 'orders', '--from', '2026-02-30', '--to', '2026-03-01']],
    ['a range that is turned round', ['backfill', 'orders', '--from', '2026-03-02', '--to', '2026-03-01']],
    ['a range with line breaks', ['plan', 'orders', '--from', '2026-03-01\n2026-03-02', '--to', '2026-03-02']],
    ['a target that is a path', ['rebuild', '--target', '../duckdb']],
    ['an EAN that is an option', ['lookup', 'product', '--', '-1']],
    ['an id that leads upwards', ['subscriptions', 'get', '..']],
    ['no id', ['subscriptions', 'delete', ' ']],
    ['a port that is none', ['sandbox', '--port', '-1']],
    ['a limit beyond all bounds', ['sql', 'SELECT 1', '--limit', '1e9']],
    ['an option that nobody knows', ['run', `--${LONG}`]],
    ['a command that colours the terminal', ['\u001b[31mrun\u0007']],
    ['a command that is a member of every object', ['__proto__']],
  ])('%s', async (_, words) => {
    const { code, stdout, stderr } = await run(words, { env, cwd });
    expect([code, stdout.text]).toEqual([2, '']);
    expect(stderr.text).not.toMatch(/\n\s+at |s3cret|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(stderr.lines.length).toBeLessThan(8);
  });

  test('and nothing was written but an empty home', async () => {
    const written = (await readdir(cwd, { recursive: true })).toSorted();
    expect(written).toEqual(['data', 'data/state.db', 'data/state.db-shm', 'data/state.db-wal']);
  });
});

test('no option takes a secret: others see the arguments of every process', async () => {
  const { stdout } = await run(['init', '--help'], { env, cwd });
  expect(stdout.text).toContain('--client-secret-file <');
  expect(stdout.text).not.toMatch(/--\S*(?:secret|token|password)(?!-file)\S* </);
});
