/** The data commands as they are typed, over the life of one installation: exit codes, what a person reads, what a program reads. */
import { copyFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { addDays, type Day } from '../../src/core/days.ts';
import { RunLedger } from '../../src/run/ledger.ts';
import { fileLocks } from '../../src/store/sqlite/locks.ts';
import { deleteRuns } from '../../src/store/tables/runs.ts';
import { monthFolder } from '../support/lake-folders.ts';
import { openWorld, type World } from '../support/nights.ts';
import { withState } from '../support/state.ts';
import { TextWriter } from './surroundings.ts';
import { typedIn } from './typed.ts';

let world: World;
let from: Day;
let to: Day;
beforeAll(async () => {
  world = await openWorld();
  ({ from, to } = world.lookback());
});
afterAll(() => world.close());
beforeEach(() => world.clock.set(world.clock.now() + 60_000));

/** `partner-etl <words>` in this installation, with another environment where given. */
const typed = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => typedIn(world, words, { env });

/** The same for a command with --json: what its one document on stdout says. */
async function document(
  ...words: string[]
): Promise<{ readonly code: number; readonly said: unknown; readonly err: string }> {
  const { code, out, err } = await typed([...words, '--json']);
  return { code, said: JSON.parse(out), err };
}

const lines = (text: string) => text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ').trim());

describe('before the first run', () => {
  it('status says what to do', async () => {
    const { code, out } = await typed(['status']);
    expect(code).toBe(0);
    expect(lines(out)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^orders \| never loaded \| /), 'No run yet: partner-etl run']),
    );
    expect(out).toMatch(/^1 thing needs you:\n {2}nothing is loaded yet: partner-etl run loads/);
  });

  it('status during the very first run asks nobody for anything', async () => {
    const lock = await fileLocks(path.join(world.home, 'locks'), world.clock).tryLock('run', 'run');
    const first = await withState(world.home, (state) => RunLedger.begin(state, world.clock, 'run', ['orders']));
    const { out } = await typed(['status']);
    expect(out).toMatch(/^The first nights are being loaded\nRunning since 2026-03-20T.+: run\n\n/);
    await lock?.release();
    await withState(world.home, (state) => deleteRuns(state, [first.runId]));
  });

  it('status of what is not even set up says what to do, and shows no empty tables', async () => {
    const { code, out } = await typed(['status'], { PARTNER_CLIENT_ID: '', PARTNER_CLIENT_SECRET: '' });
    expect(code).toBe(0);
    for (const next of ['demo', 'init', 'run']) expect(out).toContain(`partner-etl ${next} `);
    expect(out).not.toContain('orders');
  });

  it('status has a row and a line of the grid for each pipeline', async () => {
    const { out } = await typed(['status']);
    expect(out).toContain(`orders           ${from} ······ ${to}`);
  });

  it('plan shows what run will do', async () => {
    const { code, out } = await typed(['plan', 'orders']);
    expect(code).toBe(0);
    expect(lines(out)).toEqual([
      'pipeline | from | to | days | why',
      expect.stringMatching(/^─/),
      `orders | ${from} | ${addDays(from, 3)} | 4 | 4 missing`,
      `orders | ${addDays(from, 4)} | ${to} | 2 | 2 missing`,
      '2 calls, 6 slices, size not known yet, at least 0.0 min under the budgets',
      '',
    ]);
  });

  it('explain and rejects have nothing to tell', async () => {
    expect(await typed(['explain', 'orders', to])).toMatchObject({
      code: 0,
      out: expect.stringContaining('was never loaded'),
    });
    expect(await typed(['rejects'])).toMatchObject({ code: 0, out: 'No rejects.\n' });
    expect(await document('rejects')).toMatchObject({ code: 0, said: [] });
  });

  it('there is no warehouse to query or to verify, and the fix is said', async () => {
    const sql = await typed(['sql', 'SELECT 1']);
    expect(sql).toMatchObject({ code: 1, out: '' });
    expect(sql.err).toContain('fix: load something first: partner-etl run');
    expect((await typed(['verify'])).code).toBe(1);
  });

  it('nothing was called', () => {
    expect(world.sandbox.stats).toMatchObject({ calls: {}, tokenRequests: 0 });
  });
});

describe('run', () => {
  it('--json prints one document on stdout, and how it goes on stderr', async () => {
    const { code, said, err } = await document('run');
    expect(code).toBe(0);
    expect(said).toMatchObject({
      command: 'run',
      result: 'done',
      exit_code: 0,
      summary: { windows: 6, calls: 6, slices_changed: 18 },
      published: [{ target: 'duckdb', slices: 18 }],
      errors: [],
    });
    expect(err).toContain('orders: 2 windows to fetch\n');
    expect(err).not.toContain('"summary"');
  });

  it('again tells that nothing changed', async () => {
    const { code, out } = await typed(['run']);
    expect(code).toBe(0);
    expect(lines(out)).toEqual([
      expect.stringMatching(/^[\d,]+ rows in 6 windows \(6 calls\): 0 slices changed, 18 unchanged$/),
      'duckdb: nothing to load',
      '',
    ]);
  });

  it('--quiet says nothing', async () => {
    expect(await typed(['--quiet', 'run', 'orders'])).toEqual({ code: 0, out: '', err: '' });
  });

  it('ends with 75 while another one is at work, and says who', async () => {
    const lock = await fileLocks(path.join(world.home, 'locks'), world.clock).tryLock('run', 'backfill orders');
    const { code, out, err } = await typed(['run', '--json']);
    await lock?.release();
    expect({ code, out }).toEqual({ code: 75, out: '' });
    expect(err).toMatch(
      new RegExp(`another run is at work: "backfill orders" \\(process ${process.pid} on .+\\), since 2026-`),
    );
  });

  it('ends with 1 where something failed, with the error in the document and on stderr', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 400 });
    const { code, said, err } = await document('run');
    expect(code).toBe(1);
    expect(said).toMatchObject({
      result: 'failed',
      errors: [{ kind: 'failed', code: 'http_400', pipeline: 'orders' }],
    });
    expect(lines(err)).toContainEqual(expect.stringMatching(`^partner-etl: orders ${from}\\.\\.`));
    expect(err).not.toMatch(/^\s+at /m);
  });

  it('ends with 2 without credentials, and names what to set', async () => {
    const { code, err } = await typed(['run'], { PARTNER_CLIENT_SECRET: '' });
    expect(code).toBe(2);
    expect(err).toContain('PARTNER_CLIENT_SECRET');
    expect(err).toContain('fix: ');
  });
});

describe('wrong usage ends with 2 and a hint', () => {
  test.each<[string[], string]>([
    [['run', 'ordres'], 'there is no pipeline "ordres" (did you mean orders?)'],
    [['run', 'weather'], 'choose from promotions, orders, commissions'],
    [['plan', 'order'], 'choose from promotions, orders, commissions'],
    [['plan', '--from', '2026-03-01'], 'give both days'],
    [['plan', '--from', '2026-03-02', '--to', '2026-03-01'], 'both days are inclusive'],
    [['backfill', 'orders', '--from', '2026-03-02', '--to', '2026-03-01'], 'both days are inclusive'],
    [['backfill', 'order', '--from', '2026-03-01', '--to', '2026-03-01'], 'choose from'],
    [['replay', 'order', '--from', '2026-03-01', '--to', '2026-03-01'], 'choose from'],
    [
      ['replay', 'orders', '--from', '2020-03-01', '--to', '2020-03-01'],
      'partner-etl backfill orders --from 2020-03-01',
    ],
    [['explain', 'order', '2026-03-01'], 'choose from'],
    [['rejects', 'order'], 'choose from'],
    [['rejects', '--retry'], 'partner-etl rejects orders --retry'],
    [['rejects', 'orders', '--retry'], 'there is nothing to retry'],
    [['release', 'orders', '2026-03-15'], 'partner-etl status lists what is held'],
    [['sql', 'SELECT 1', '--target', 'postgres'], 'switched on: duckdb'],
    [['sql', 'SELECT nothing FROM nowhere'], 'nowhere'],
  ])('%j', async (words, part) => {
    const { code, err } = await typed(words);
    expect(code).toBe(2);
    expect(err).toContain(part);
    expect(err).not.toMatch(/^\s+at /m);
  });
});

describe('looking at it', () => {
  it('status: a run that is at work is running, one that was killed did not end', async () => {
    const lock = await fileLocks(path.join(world.home, 'locks'), world.clock).tryLock('run', 'run orders');
    const killed = await withState(world.home, (state) =>
      RunLedger.begin(state, world.clock, 'run orders', ['orders']),
    );
    const { out } = await typed(['status']);
    expect(out).toMatch(/^Running since 2026-03-20T.+: run orders$/m);
    expect(out).not.toMatch(/(?:is|are) missing|lacks/);
    expect(lines(out)).toContainEqual(expect.stringMatching(`^${killed.runId} \\| run orders \\| .+ \\| running`));
    expect((await document('status')).said).toMatchObject({ run_at_work: killed.runId });
    await lock?.release();
    const later = await typed(['status']);
    expect(lines(later.out)).toContainEqual(expect.stringMatching(`^${killed.runId} .+ \\| did not end`));
    expect(later.out).not.toContain('Running');
    await withState(world.home, (state) => deleteRuns(state, [killed.runId]));
  });

  it('status: a verdict, freshness, a grid of days, the runs', async () => {
    const { code, out } = await typed(['status']);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^2 things need you:\n {2}the last run failed: partner-etl replay orders .*\n {2}4 days could not be fetched: partner-etl run\n\n/,
    );
    const shown = lines(out);
    expect(shown).toContainEqual(
      expect.stringMatching(
        new RegExp(`^promotions \\| ${to} \\| 0 d \\| [\\d,]+ \\| 6 \\| 0 \\| 0 \\| 0 \\| 0 \\| 0$`),
      ),
    );
    expect(out).toContain(`promotions       ${from} ██████ ${to}`);
    expect(shown).toContain('duckdb: holds everything that the lake holds');
    expect(shown.filter((line) => /^r\w{18} \| run \| 2026-03-20T/.test(line)).length).toBeGreaterThan(2);
    expect(await document('status')).toMatchObject({
      code: 0,
      said: { today: '2026-03-20', holds: [], targets: [{ slices_behind: 0 }] },
    });
  });

  it('plan: why, how many calls, how many bytes', async () => {
    const { out } = await typed(['plan']);
    expect(lines(out)).toContain(`promotions | ${from} | ${addDays(from, 3)} | 4 | 4 lookback`);
    expect(out).toMatch(/^6 calls, 18 slices, about \d+\.\d MB, at least 0\.1 min under the budgets$/m);
    const backfill = await document('plan', 'orders', '--from', addDays(from, -1), '--to', from);
    expect(backfill).toMatchObject({
      code: 0,
      said: { calls: 1, slices: 1, pipelines: [{ windows: [{ days: 1, reasons: { missing: 1 } }] }] },
    });
    expect((await typed(['plan', 'orders', '--from', from, '--to', to])).out).toContain('Nothing is due.\n0 calls');
  });

  it('today and yesterday are days of the service, as the installation sees it', async () => {
    expect((await typed(['explain', 'orders', 'yesterday'])).out).toMatch(new RegExp(`^orders ${to}: `));
    const planned = await document('plan', 'orders', '--from', 'today-9', '--to', 'today-8');
    expect(planned.said).toMatchObject({ pipelines: [{ windows: [{ from: '2026-03-11', to: '2026-03-12' }] }] });
    expect(await typed(['plan', '--from', 'yesterday', '--to', 'today-3'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--from 2026-03-19 is after --to 2026-03-17'),
    });
  });

  it('explain: content with its sums, fetches, versions', async () => {
    const { code, out } = await typed(['explain', 'orders', from]);
    expect(code).toBe(0);
    const shown = lines(out);
    expect(shown[0]).toMatch(
      new RegExp(`^orders ${from}: \\d+ rows, 0 rejects, 0 duplicates dropped, (open|settled)$`),
    );
    expect(shown).toContainEqual(expect.stringMatching(/^(\| )?commission \| \d+\.\d{6}$/));
    expect(shown).toEqual(expect.arrayContaining(['Fetches:', 'Versions in duckdb:']));
    expect(await document('explain', 'orders', from)).toMatchObject({
      code: 0,
      said: { pipeline: 'orders', day: from, targets: [{ target: 'duckdb', receipts: { rows: [expect.any(Array)] } }] },
    });
  });

  it('verify: compares everything; a difference ends with 1 and the fix', async () => {
    expect(await typed(['verify'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^raw: \d+ answers\nlake: (18 slices, [\d,]+ rows)\nduckdb: \1 compared with the lake, \d\d checks run\nVerdict: no difference: .+\n$/,
      ),
    });
    const folder = monthFolder(world.home, 'promotions', from);
    const [one, two] = (await readdir(folder)).filter((name) => name.endsWith('.parquet')).sort();
    await copyFile(path.join(folder, two!), path.join(folder, one!));
    const fix = `partner-etl replay promotions --from ${from} --to ${from}`;
    const { code, out } = await typed(['verify']);
    expect(code).toBe(1);
    expect(lines(out)).toContainEqual(expect.stringMatching(`^lake \\| promotions \\| ${from} \\| .+ \\| ${fix}$`));
    expect(out).toMatch(/^Verdict: 1 difference: .+\n/m);
    const narrow = await typedIn(world, ['verify'], { stdout: new TextWriter({ isTTY: true, columns: 60 }) });
    expect(narrow.out).toMatch(new RegExp(`^lake: promotions ${from}: .+\n  fix: ${fix}$`, 'm'));
    expect(await document('verify')).toMatchObject({
      code: 1,
      said: {
        ...{ verdict: 'differences', slices: 18, differences: [{ hop: 'lake', fix }] },
        targets: [{ target: 'duckdb', slices: 18, checks: expect.any(Number) }],
      },
    });
    expect(await document(...fix.split(' ').slice(1))).toMatchObject({
      code: 0,
      said: { summary: { calls: 0, slices_changed: 1 } },
    });
    expect((await typed(['verify'])).code).toBe(0);
  });
});

describe('loading again', () => {
  it('rebuild says how far it is', async () => {
    const { code, out, err } = await typed(['rebuild']);
    expect(code).toBe(0);
    expect(out).toMatch(/^duckdb: [\d,]+ slices, /);
    expect(err).toMatch(/^duckdb: ([\d,]+) rows to load\nduckdb: \1 rows, took \d+ s\n/m);
  });

  it('backfill loads what is missing', async () => {
    const day = addDays(from, -1);
    const { code, said } = await document('backfill', 'orders', '--from', day, '--to', day);
    expect(code).toBe(0);
    expect(said).toMatchObject({
      command: `backfill orders --from ${day} --to ${day}`,
      summary: { calls: 1, slices_changed: 1 },
    });
    const again = await typed(['backfill', 'orders', '--from', day, '--to', day]);
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('0 windows (0 calls)') });
  });

  it('rows that cannot be loaded end with 3, are listed, and can be tried again', async () => {
    world.sandbox.addFault({ endpoint: 'orders', kind: 'raw-value', field: 'commission', json: '"n/a"', item: 0 });
    const { code, out } = await typed(['run', 'orders']);
    expect(code).toBe(3);
    expect(out).toContain('1 rows were rejected: partner-etl rejects shows them\n');
    const { said } = await document('rejects', 'orders');
    expect(said).toMatchObject([{ pipeline: 'orders', item: 0, reason: 'bad_number' }]);
    const table = await typed(['rejects']);
    expect(lines(table.out)[2]).toMatch(/^orders \| 2026-03-1\d \| 0 \| bad_number \| .*commission.* \| \{/);
    const retried = await document('rejects', 'orders', '--retry');
    expect(retried).toMatchObject({ code: 3, said: { summary: { calls: 0, rejects: 1 } } });
    expect((await typed(['run', 'orders'])).code).toBe(0);
  });

  it('a held slice ends with 3, stands in the status, and is applied by release', async () => {
    world.sandbox.change({ kind: 'empty-day', report: 'orders', day: to });
    const { code, out } = await typed(['run', 'orders']);
    expect(code).toBe(3);
    expect(out).toContain('1 slices are held: partner-etl status lists them, partner-etl release applies one\n');
    expect(lines((await typed(['status'])).out)).toContainEqual(
      expect.stringMatching(`^orders \\| ${to} \\| emptied \\| .+ rows before, 0 now`),
    );
    expect((await typed(['explain', 'orders', to])).out).toContain(`partner-etl release orders ${to} applies it.`);
    expect(await document('release', 'orders', to)).toMatchObject({
      code: 0,
      // The day itself, and that each of its items is gone.
      said: { published: [{ slices: 2, rows: 58 }] },
    });
    const { said } = await document(
      'sql',
      `SELECT count(*) AS n FROM warehouse.fact_order_item WHERE order_date = '${to}'`,
    );
    expect(said).toEqual([{ n: 0 }]);
  });
});

it('refused credentials end with 4 and are shown nowhere', async () => {
  const secret = 'not-the-secret-of-this-client';
  const { code, out, err } = await typed(['run'], { PARTNER_CLIENT_SECRET: secret });
  expect(code).toBe(4);
  expect(err).toContain('fix: ');
  expect(out + err).not.toContain(secret);
});
