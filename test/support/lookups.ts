/** Nights of look-ups: a list of EANs as a file, and the comparison of the warehouse with what the sandbox holds to be true. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TargetName } from '../../src/warehouse/target-name.ts';
import { openWorld, type Settings, type World, type WorldOptions } from './nights.ts';

export interface LookupWorldOptions extends Omit<WorldOptions, 'settings'> {
  readonly rates?: Settings;
  readonly products?: Settings;
  readonly reductions?: Settings;
  readonly service?: Settings;
  readonly guards?: Settings;
}

/** A world with those pipelines on that have settings, which may be empty. */
export async function openLookupWorld(options: LookupWorldOptions): Promise<World> {
  const { rates, products, reductions, service, guards, ...rest } = options;
  const on = (name: string, settings: Settings | undefined) =>
    settings ? { [name]: { enabled: true, ...settings } } : {};
  return openWorld({
    ...rest,
    settings: {
      pipelines: { ...on('commission-rates', rates), ...on('products', products), ...on('reductions', reductions) },
      eans: { file: 'eans.csv', query: null },
      ...(service ? { service } : {}),
      ...(guards ? { guards } : {}),
    },
  });
}

/** Writes the list of EANs. */
export function listEans(world: World, lines: readonly string[]): Promise<void> {
  return writeFile(path.join(world.home, 'eans.csv'), lines.map((line) => `${line}\n`).join(''));
}

/** Rows of a query as texts, values apart by a space, null as `-`. */
export function rowsOf(world: World, sql: string, name: TargetName = 'duckdb'): Promise<string[]> {
  return world.within(async ({ targets }) => {
    const target = targets.find((one) => one.name === name);
    if (!target) throw new Error(`no target ${name}`);
    const { rows } = await target.query(sql, 1_000_000);
    return rows.map((row) => row.map((value) => value ?? '-').join(' '));
  });
}

/** What the current versions of these EANs say that the sandbox does not, and the other way round. */
export async function rateDifferences(
  world: World,
  eans: readonly string[],
  name: TargetName = 'duckdb',
): Promise<string[]> {
  const held = await rowsOf(
    world,
    `SELECT ean, outcome, fixed_amount, percentage, total_cost FROM warehouse.fact_commission_rate WHERE condition = 'NEW' AND asked_price IS NULL`,
    name,
  );
  const boundaries = await rowsOf(
    world,
    'SELECT ean, maximum_price, cost_reduction, start_date, end_date FROM warehouse.fact_commission_reduction WHERE asked_price IS NULL',
    name,
  );
  const told = eans.map((ean) => ({ ean, truth: world.sandbox.truthOfCommission(ean, 'NEW', null) }));
  const rates = told.map(({ ean, truth }) =>
    truth
      ? [ean, 'found', six(truth.fixedAmount), six(truth.percentage), six(truth.totalCost)].join(' ')
      : `${ean} refused - - -`,
  );
  const reductions = told.flatMap(({ ean, truth }) =>
    (truth?.reductions ?? []).map((r) =>
      [ean, six(r.maximumPrice), six(r.costReduction), r.startDate, r.endDate].join(' '),
    ),
  );
  return [...differing(held, rates), ...differing(boundaries, reductions)];
}

/** A decimal text with six decimals, as the warehouses spell amounts. */
export function six(text: string | undefined): string {
  if (text === undefined) return '-';
  const [whole = '', decimals = ''] = text.split('.');
  return `${whole}.${decimals.padEnd(6, '0')}`;
}

function differing(held: readonly string[], told: readonly string[]): string[] {
  const [a, b] = [new Set(held), new Set(told)];
  const missing = told.filter((row) => !a.has(row)).map((row) => `missing ${row}`);
  const twice = held.length === a.size ? [] : ['rows stand twice'];
  return [...missing, ...held.filter((row) => !b.has(row)).map((row) => `too much ${row}`), ...twice];
}
