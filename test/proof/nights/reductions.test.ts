/** Nights of the reductions file against the sandbox: when it is fetched, under which name, and what it changes. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runRelease, runReplay } from '../../../src/run/again.ts';
import type { RunOutcome } from '../../../src/run/session.ts';
import { explain, listRejects } from '../../../src/run/status/explain.ts';
import { statusOf } from '../../../src/run/status/status.ts';
import { verify } from '../../../src/run/verify/verify.ts';
import { openLookupWorld, rowsOf, six } from '../../support/lookups.ts';
import { loseLake } from '../../support/lost-lake.ts';
import type { World } from '../../support/nights.ts';

let world: World;
beforeEach(async () => {
  world = await openLookupWorld({ reductions: {}, sandbox: { seriesLength: 50 } });
});
afterEach(() => world.close());

const night = () => world.night({ names: ['reductions'] });
const calls = () => {
  const { reductions = 0, 'reductions-latest': names = 0 } = world.sandbox.stats.calls;
  return [names, reductions];
};
const current = () =>
  rowsOf(
    world,
    'SELECT ean, maximum_price, cost_reduction, start_date, end_date FROM mart.reduction WHERE is_current ORDER BY ALL',
  );
const files = () =>
  rowsOf(world, 'SELECT file_name, is_same_content FROM warehouse.reductions_file ORDER BY observed_from');

/** The sandbox's file as the warehouse spells it. */
function told(): string[] {
  const [, ...lines] = world.sandbox.reductionsFile().text.trim().split('\n');
  return lines
    .map((line) => {
      const [ean, maximum, cost, start, end] = line.split(',');
      return [ean, six(maximum), six(cost), start, end].join(' ');
    })
    .sort();
}

const drift = () => world.within(statusOf).then((status) => status.drift.map(({ kind, field }) => `${kind} ${field}`));

it('every request is told by etl.fetch, also that for the name, and nothing is complained of', async () => {
  await night();
  const kept: string[] = [];
  await world.within(async ({ raw }) => {
    for await (const { fetch_id: id } of raw.fetches('reductions')) kept.push(id);
  });
  const told = await rowsOf(world, "SELECT fetch_id FROM etl.fetch WHERE pipeline = 'reductions' ORDER BY 1");
  expect(kept).toHaveLength(2);
  expect(told).toEqual(kept);
  expect(world.log.filter(({ level }) => level === 'warn')).toEqual([]);
});

describe('the reductions file', () => {
  it('is fetched once, and again only when its name is another one', async () => {
    expect(await night()).toMatchObject({ exitCode: 0, errors: [] });
    expect((await current()).sort()).toEqual(told());
    expect(calls()).toEqual([1, 1]);
    await night();
    expect(calls()).toEqual([1, 1]);
    world.clock.set(world.clock.now() + 3_600_000);
    expect((await night()).run.summary).toMatchObject({ calls: 1, slices_changed: 0 });
    expect(calls()).toEqual([2, 1]);
    world.passDays(1);
    await night();
    expect(calls()).toEqual([3, 2]);
    expect((await current()).sort()).toEqual(told());
    expect(await world.within(verify)).toMatchObject({ differences: [] });
  });

  it('keeps its history: what it said on an earlier day is a query', async () => {
    await night();
    const [before, day] = [told(), world.today()];
    const name = world.sandbox.reductionsFile().name;
    for (let i = 0; i < 3; i++) {
      world.passDays(3);
      await night();
    }
    const then = await rowsOf(
      world,
      `SELECT ean, maximum_price, cost_reduction, start_date, end_date FROM mart.reduction
       WHERE valid_from < DATE '${day}' + 1 AND (valid_to IS NULL OR valid_to >= DATE '${day}' + 1)`,
    );
    expect(then.sort()).toEqual(before);
    const gone = await rowsOf(world, 'SELECT DISTINCT first_file FROM mart.reduction WHERE NOT is_current');
    expect(gone).toContain(name);
    expect((await current()).sort()).toEqual(told());
    const newest = world.sandbox.reductionsFile().name;
    expect(await rowsOf(world, 'SELECT DISTINCT last_file FROM mart.reduction WHERE is_current')).toEqual([newest]);
  });

  it('with the same content under a new name is recorded and changes no line', async () => {
    await night();
    const before = await rowsOf(world, 'SELECT count(*), max(loaded_at) FROM warehouse.fact_reduction');
    world.clock.set(world.clock.now() + 3_600_000);
    world.sandbox.change({ kind: 'reductions-file', name: 'Other_name.csv' });
    const next = await night();
    expect(next.run.summary).toMatchObject({ calls: 2, slices_changed: 1 });
    expect(await files()).toEqual([expect.stringMatching(/^Verlaging.* false$/), 'Other_name.csv true']);
    expect(await rowsOf(world, 'SELECT count(*), max(loaded_at) FROM warehouse.fact_reduction')).toEqual(before);
    expect(await rowsOf(world, 'SELECT DISTINCT last_file FROM mart.reduction')).toEqual(['Other_name.csv']);
  });

  it('with other content under the same name is loaded, and is drift', async () => {
    await night();
    world.clock.set(world.clock.now() + 3_600_000);
    const { name } = world.sandbox.reductionsFile();
    const line = {
      ean: '0000000000055',
      maximumPrice: '32.65',
      costReduction: '15.92',
      startDate: '2026-03-01',
      endDate: '2026-03-30',
    };
    world.sandbox.change({ kind: 'reductions-lines', add: [line] });
    world.sandbox.addFault({ endpoint: 'reductions-latest', kind: 'announced-name', name: 'Quite_another.csv' });
    await night();
    expect((await current()).sort()).toEqual(told());
    expect((await files()).map((file) => file.split(' ')[0])).toEqual([name, name]);
    expect(await drift()).toContain('same_name_other_content file_name');
  });

  it('whose name changes between the two calls is recorded under the name of the download', async () => {
    world.sandbox.addFault({ endpoint: 'reductions-latest', kind: 'announced-name', name: 'Told_before.csv' });
    await night();
    expect(await rowsOf(world, 'SELECT file_name, asked_name FROM warehouse.reductions_file')).toEqual([
      `${world.sandbox.reductionsFile().name} Told_before.csv`,
    ]);
    world.clock.set(world.clock.now() + 3_600_000);
    expect((await night()).run.summary?.calls).toBe(1);
  });

  it.each([
    ['../../etc/x', '../../etc/x'],
    ['/etc/passwd', '/etc/passwd'],
    ['a\u0000b.csv', 'ab.csv'],
    ['x'.repeat(4000), 'x'.repeat(255)],
  ])('under the name %j touches nothing outside the home', async (name, recorded) => {
    world.sandbox.addFault({ endpoint: 'reductions', kind: 'disposition', form: 'extended', name });
    expect((await night()).errors).toEqual([]);
    expect(await rowsOf(world, 'SELECT file_name FROM warehouse.reductions_file')).toEqual([recorded]);
    const found = await readdir(world.home, { recursive: true });
    const named = found.filter((file) => /^(?:x+|passwd|etc|a.*b\.csv)$/.test(path.basename(file)));
    expect(named).toEqual([]);
    expect(found.length).toBeGreaterThan(10);
    expect((await current()).sort()).toEqual(told());
  });

  it.each(['quoted', 'extended', 'two-headers'] as const)(
    'is known by its name in a header of the form %s',
    async (form) => {
      world.sandbox.addFault({ endpoint: 'reductions', kind: 'disposition', form });
      await night();
      expect(await files()).toEqual([`${world.sandbox.reductionsFile().name} false`]);
    },
  );

  it.each(['nameless', 'missing'] as const)(
    'with a %s header goes by the name that was told, and that is drift',
    async (form) => {
      world.sandbox.addFault({ endpoint: 'reductions', kind: 'disposition', form });
      await night();
      expect(await files()).toEqual([`${world.sandbox.reductionsFile().name} false`]);
      expect(await drift()).toEqual(['no_file_name Content-Disposition']);
    },
  );
});

describe('a reductions file that is written otherwise', () => {
  it.each([
    ['quotes', { quoted: true }],
    ['no end of its last line', { lastLineEnd: false }],
    ['columns in another order', { columns: ['EndDate', 'CostReduction', 'EAN', 'StartDate', 'MaximumPrice'] }],
  ] as const)('says the same with %s', async (_, format) => {
    world.sandbox.addFault({ endpoint: 'reductions', kind: 'file-format', ...format });
    expect((await night()).errors).toEqual([]);
    expect((await current()).sort()).toEqual(told());
  });

  it.each([
    ['another delimiter', { kind: 'file-format', delimiter: ';' }, 'unknown_header'],
    [
      'a column missing',
      { kind: 'file-format', columns: ['EAN', 'MaximumPrice', 'StartDate', 'EndDate'] },
      'unknown_header',
    ],
    ['nothing in it', { kind: 'truncate', bytes: 0 }, 'empty_file'],
  ] as const)(
    'with %s is refused with what was found; the old data stays and the next file is taken',
    async (_, fault, code) => {
      await night();
      const before = await current();
      world.passDays(1);
      world.sandbox.addFault({ endpoint: 'reductions', ...fault });
      const failed: RunOutcome = await night();
      expect(failed).toMatchObject({
        exitCode: 1,
        errors: [{ code, hint: expect.stringContaining('loaded before stays') }],
      });
      expect(await drift()).toContain(`${code} header`);
      expect(await current()).toEqual(before);
      expect(await night()).toMatchObject({ exitCode: 0 });
      expect((await current()).sort()).toEqual(told());
    },
  );

  it('with lines that do not fit sets them aside and loads the rest', async () => {
    for (const how of ['few-fields', 'bad-number', 'bad-day', 'duplicate'] as const)
      world.sandbox.addFault({ endpoint: 'reductions', kind: 'broken-line', how });
    const outcome = await night();
    expect(outcome).toMatchObject({ exitCode: 3, errors: [], run: { summary: { duplicates: 1 } } });
    const rejects = await world.within((context) => listRejects(context, 'reductions', 10));
    expect(rejects.map(({ reason }) => reason).sort()).toEqual(['bad_day', 'bad_number', 'wrong_fields']);
    expect((await current()).sort()).toEqual(told());
  });

  it('that is suddenly all but empty is held; a release applies it', async () => {
    await night();
    const before = await current();
    world.passDays(1);
    world.sandbox.addFault({ endpoint: 'reductions', kind: 'truncate', bytes: 60 });
    expect(await night()).toMatchObject({ exitCode: 3, run: { summary: { slices_held: 1 } } });
    expect(await current()).toEqual(before);
    const [hold] = (await world.within(statusOf)).holds;
    expect(hold).toMatchObject({ pipeline: 'reductions', rows_before: before.length });
    expect(await world.within((context) => runRelease(context, 'reductions', hold!.slice_day))).toMatchObject({
      errors: [],
    });
    expect((await current()).length).toBeLessThan(3);
    world.clock.set(world.clock.now() + 3_600_000);
    world.sandbox.change({ kind: 'reductions-file', name: 'Whole_again.csv' });
    expect(await night()).toMatchObject({ exitCode: 0 });
    expect((await current()).sort()).toEqual(told());
  });
});

describe('what was stored', () => {
  it('makes the same history again in a replay, without a call', async () => {
    await night();
    const first = world.today();
    for (let i = 0; i < 3; i++) {
      world.passDays(2);
      await night();
    }
    const table = 'SELECT * EXCLUDE (loaded_at) FROM mart.reduction ORDER BY ALL';
    const [before, asked] = [await rowsOf(world, table), calls()];
    const range = { from: first, to: world.today() };
    const replay = await world.within((context) => runReplay(context, 'reductions', range));
    expect(replay).toMatchObject({ exitCode: 0, run: { summary: { slices_changed: 0 } } });
    expect(await rowsOf(world, table)).toEqual(before);
    expect(calls()).toEqual(asked);
    const told = await world.within((context) => explain(context, 'reductions', world.today()));
    expect(told.fetches.map(({ notes }) => notes?.file_name)).toContain(world.sandbox.reductionsFile().name);
  });

  it.each(['reductions', 'reductions-files'])('makes again what the lake has lost of %s', async (name) => {
    await night();
    const first = world.today();
    world.passDays(2);
    await night();
    const table = 'SELECT * EXCLUDE (loaded_at) FROM mart.reduction ORDER BY ALL';
    const before = await rowsOf(world, table);
    await loseLake(world.home, name);
    const range = { from: first, to: world.today() };
    expect((await world.within((context) => runReplay(context, 'reductions', range))).errors).toEqual([]);
    expect(await rowsOf(world, table)).toEqual(before);
    expect(await world.within(verify)).toMatchObject({ differences: [], warnings: [] });
  });

  it('is never asked for more than the budget allows, whoever runs how often', async () => {
    for (let i = 0; i < 12; i++) {
      world.sandbox.change({ kind: 'reductions-file', name: `File_${i}.csv` });
      await night();
      world.clock.set(world.clock.now() + 120_000);
    }
    expect(world.sandbox.stats.overBudget).toEqual({});
    expect(calls()[0]).toBeLessThanOrEqual(2);
  });
});

describe('a run that is killed when the file is stored and not yet applied', () => {
  it('leaves it to the next one, which asks for nothing', async () => {
    await night();
    world.passDays(1);
    const killed = await world.night({
      names: ['reductions'],
      step: (name) => {
        if (name === 'answer-received') throw new Error('killed');
      },
    });
    expect(killed.exitCode).toBe(1);
    const before = calls();
    expect(await night()).toMatchObject({ exitCode: 0, run: { summary: { calls: 0, slices_changed: 4 } } });
    expect(calls()).toEqual(before);
    expect((await current()).sort()).toEqual(told());
    expect(await files()).toHaveLength(2);
    expect((await night()).run.summary).toMatchObject({ calls: 0, slices_changed: 0 });
  });

  it('a day before leaves it to the next one, which asks whether there is a newer one', async () => {
    await night();
    world.passDays(1);
    await world.night({
      names: ['reductions'],
      step: (name) => {
        if (name === 'answer-received') throw new Error('killed');
      },
    });
    world.passDays(1);
    expect((await night()).exitCode).toBe(0);
    expect((await current()).sort()).toEqual(told());
    expect(await files()).toHaveLength(3);
  });
});
