/** What receipts say, recomputed from the vault by a script that knows nothing of the program but its files. */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addDays } from '../../src/core/days.ts';
import type { ItemFaultKind } from '../../src/sandbox/item-faults.ts';
import { openLookupWorld } from '../support/lookups.ts';
import { packageRoot, type World } from '../support/nights.ts';

interface Checked {
  readonly pipeline: string;
  readonly day: string;
  readonly place: string;
  readonly rows: number;
  readonly isSame: boolean;
}

const SCRIPT = path.join(packageRoot, 'test', 'eyes', 'recompute.mjs');
const FAULTS: readonly ItemFaultKind[] = [
  ...([
    'number-as-text',
    'exponent-number',
    'many-decimals',
    'nul-escape',
    'lone-surrogate',
    'missing-field',
    'duplicate',
  ] as const),
  ...([
    'conflicting-duplicate',
    'null-item',
    'text-item',
    'invalid-utf8',
    'duplicate-key',
    'raw-control',
    'unknown-field',
  ] as const),
];

/** As a person does it. */
function recompute(home: string): Promise<{ code: number; checked: Checked[] }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [SCRIPT, home, '--json'], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr, { cause: error }));
      else resolve({ code: error ? Number(error.code) : 0, checked: JSON.parse(stdout) as Checked[] });
    });
  });
}

let world: World;
beforeAll(async () => {
  world = await openLookupWorld({
    reductions: {},
    ordersPerDay: 30,
    lookbackDays: 4,
    windowDays: 2,
    sandbox: { seriesLength: 40 },
  });
  for (const endpoint of ['orders', 'commissions', 'promotions'] as const)
    for (const [item, kind] of FAULTS.entries()) world.sandbox.addFault({ endpoint, kind, item } as never);
  world.sandbox.addFault({
    endpoint: 'orders',
    kind: 'raw-value',
    item: 20,
    field: 'commission',
    json: '5.684341886080802E-14',
  });
  world.sandbox.addFault({
    endpoint: 'commissions',
    kind: 'raw-value',
    item: 3,
    field: 'siteName',
    json: '"a\\u001fb"',
  });
  expect((await world.night()).errors).toEqual([]);
  const { from } = world.lookback();
  world.passDays(1);
  world.sandbox.change({
    kind: 'restate-item',
    ...world.itemOn(addDays(from, 1)),
    values: { commission: '12.34' },
  });
  world.sandbox.change({ kind: 'move-item', ...world.itemOn(addDays(from, 2)), toDay: addDays(from, 3) });
  world.sandbox.change({ kind: 'vanish-item', ...world.itemOn(addDays(from, 3)) });
  expect((await world.night()).errors).toEqual([]);
});
afterAll(() => world.close());

describe('the control sums of lake and warehouse', () => {
  it('are those of the vault, after nights of damaged items and restatements', async () => {
    const { code, checked } = await recompute(world.home);
    expect(checked.filter(({ isSame }) => !isSame)).toEqual([]);
    expect(code).toBe(0);
    for (const pipeline of ['promotions', 'orders', 'commissions', 'reductions'])
      for (const place of ['lake', 'duckdb'])
        expect(checked.some((one) => one.pipeline === pipeline && one.place === place && one.rows > 0)).toBe(true);
  });

  it('are told to differ when a manifest says another sum', async () => {
    const months = await readdir(path.join(world.home, 'lake', 'orders'));
    const file = path.join(world.home, 'lake', 'orders', months[0]!, 'manifest.json');
    const told = await readFile(file, 'utf8');
    const changed = told.replace(
      /("commission":\s?"\d*)(\d)(\.)/,
      (_, before, digit, point) => `${before}${(Number(digit) + 1) % 10}${point}`,
    );
    expect(changed).not.toBe(told);
    await writeFile(file, changed);
    const { code, checked } = await recompute(world.home);
    await writeFile(file, told);
    expect([code, checked.filter(({ isSame }) => !isSame).map(({ place }) => place)]).toEqual([1, ['lake']]);
  });
});
