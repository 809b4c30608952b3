/** What somebody tries through `sql` who may only read the warehouse. One suite for both targets. */
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TargetName } from '../../../src/warehouse/target-name.ts';
import { typedIn } from '../../cli/typed.ts';
import { openWorld, type World } from '../../support/nights.ts';

const SECRET = 'the-text-of-a-file-that-is-none-of-theirs';

export function querying(
  name: TargetName,
  attempts: (file: string, out: string) => readonly (readonly [string, string])[],
  postgresUrl: () => string | undefined,
): void {
  let world: World;
  beforeAll(async () => {
    const url = postgresUrl();
    world = await openWorld({ lookbackDays: 2, windowDays: 2, ...(url ? { postgresUrl: url } : {}) });
    expect((await world.night({ names: ['orders'] })).errors).toEqual([]);
    await writeFile(path.join(world.home, 'secret.csv'), `${SECRET}\n1\n`);
  });
  afterAll(() => world.close());

  const typed = (sql: string) => typedIn(world, ['sql', sql, '--target', name, '--format', 'csv']);

  describe(`sql on ${name}`, () => {
    test('refuses or answers without effect: reading files, writing them, changing rows and settings, another statement', async () => {
      const out = path.join(world.home, 'written');
      const counting =
        'SELECT (SELECT count(*) FROM warehouse.fact_order_item) AS a, (SELECT count(*) FROM etl.receipt) AS b';
      const before = (await typed(counting)).out;
      for (const [what, sql] of attempts(path.join(world.home, 'secret.csv'), out)) {
        const { code, out: shown, err } = await typed(sql);
        expect([what, code, shown]).toEqual([what, 2, '']);
        expect([what, err]).toEqual([what, expect.stringMatching(/^partner-etl: .*\n[\s\S]*fix: /)]);
        expect(`${shown}${err}`).not.toContain(SECRET);
        expect((await typed(counting)).out).toBe(before);
      }
      await expect(access(out)).rejects.toMatchObject({ code: 'ENOENT' });
    });

    test('shows no secret of the program', async () => {
      const settings = name === 'duckdb' ? 'SELECT * FROM duckdb_settings()' : 'SELECT name, setting FROM pg_settings';
      const { out } = await typed(settings);
      expect(out.length).toBeGreaterThan(100);
      expect(out).not.toContain(world.sandbox.clientSecret);
    });
  });
}
