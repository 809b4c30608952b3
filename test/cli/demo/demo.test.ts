/** What `npm start` runs: the README promises that the same night again changes nothing, and that the commands it names work as they stand. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { RunLedger } from '../../../src/run/ledger.ts';
import { withState } from '../../support/state.ts';
import { useDemo } from './scene.ts';

const scene = useDemo();
const { typed, demo } = scene;

const IS_DEMO = /^There are neither settings nor credentials: this is the demo's data, data\/demo/;
const COUNT = ['sql', 'SELECT count(*) AS n FROM warehouse.fact_order_item'];

test('a demo that cannot begin leaves no service behind, which would keep the process', async () => {
  const home = path.join(scene.cwd, 'broken');
  await mkdir(home);
  await writeFile(path.join(home, 'state.db'), 'no database');
  const { code, out } = await typed(['demo', '--home', home]);
  expect(code).toBe(1);
  const service = /sandbox on (http:\S+)\.\n/.exec(out)?.[1] ?? '';
  await expect(fetch(service)).rejects.toThrow('fetch failed');
});

test('before there is a demo nothing is taken for one', async () => {
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  await rm(path.join(scene.cwd, 'data'), { recursive: true, force: true });
});

test('the demo loads a night of every pipeline, and the same night again asks for nothing new and changes nothing', async () => {
  const first = await demo();
  expect(first.code).toBe(0);
  expect(first.out).toMatch(/ slices changed, [0-9]+ unchanged\nduckdb: [0-9]+ slices, /);
  expect(first.out).not.toContain('PARTNER_ETL_HOME');
  expect(first.out).toMatch(/The status page on this data: npm start -- --page\n$/);
  const second = await demo();
  expect(second.code).toBe(0);
  expect(second.out).toMatch(/: 0 slices changed, [0-9]+ unchanged\nduckdb: nothing to load\n/);
  expect(first.out + second.out).not.toContain('left out');
});

test.each([
  [['status']],
  [['explain', 'orders', 'yesterday']],
  [COUNT],
  [['ask', '1']],
  [['verify']],
  [['rejects']],
  [['plan']],
  [['docs', '--answers']],
])('%j works on the demo without settings, and says so in one line', async (words) => {
  const { code, out, err } = await typed(words);
  expect({ code, first: err.split('\n')[0] }).toEqual({ code: 0, first: expect.stringMatching(IS_DEMO) });
  expect(out).not.toBe('');
});

test('what the settings say of DuckDB holds where a warehouse is asked', async () => {
  const settings = path.join(scene.cwd, 'engine.yaml');
  await writeFile(settings, 'engine:\n  memoryMiB: 600\n  threads: 3\n');
  const asked = `SELECT current_setting('threads') AS threads, current_setting('memory_limit') AS memory`;
  const { out } = await typed(['sql', asked, '--format', 'csv'], {
    PARTNER_ETL_HOME: path.join(scene.cwd, 'data', 'demo'),
    PARTNER_ETL_CONFIG: settings,
  });
  expect(out).toBe('threads,memory\r\n3,300.0 MiB\r\n');
});

test('with any setting or credential of the installation, or data of its own, the demo is left alone', async () => {
  expect((await typed(['status'], { PARTNER_CLIENT_ID: 'mine' })).err).not.toMatch(IS_DEMO);
  expect((await typed(['status'], { PARTNER_ETL_HOME: path.join(scene.cwd, 'other') })).err).not.toMatch(IS_DEMO);
  expect((await typed(['run', 'orders'])).code).toBe(2);
  await withState(path.join(scene.cwd, 'data'), (state) => RunLedger.begin(state, systemClock, 'run', []));
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  for (const end of ['', '-wal', '-shm']) await rm(path.join(scene.cwd, 'data', `state.db${end}`), { force: true });
  const settings = path.join(scene.cwd, 'package', 'config', 'local.yaml');
  await writeFile(settings, '{}');
  expect((await typed(['status'])).err).not.toMatch(IS_DEMO);
  await rm(settings);
});
