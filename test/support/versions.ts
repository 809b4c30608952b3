/** What warehouses hold of the pipelines whose rows are versions: whole histories, and what is wrong with them. */
import { pipelines } from '../../pipelines/index.ts';
import {
  childrenOf,
  EXTRA_COLUMN,
  FETCH_COLUMN,
  isNamed,
  OBSERVED_FROM,
  OBSERVED_ON,
  type Pipeline,
  storedColumns,
  VALID_FROM,
  VALID_TO,
} from '../../src/core/pipeline.ts';
import type { TargetName } from '../../src/warehouse/target-name.ts';
import { rowsOf } from './lookups.ts';
import type { World } from './nights.ts';

/** Those of look-ups by EAN and of the reductions file, which nights are made of here; each with its parts. */
export const VERSIONED: readonly string[] = ['products', 'commission-rates', 'reductions'];

const merged = pipelines.filter((one) => isNamed(one) && one.merge !== null);
const tables = merged.flatMap((whole) => [whole, ...childrenOf(pipelines, whole)]);

export interface HistoryOptions {
  readonly target?: TargetName;
  /** Without the instants and the fetches, which are others in every run; the days stay, and which version is the current one. */
  readonly isTimeless?: boolean;
}

/** Every row of every table, as texts, by table; without `loaded_at`. JSON is spelled alike, whichever engine it comes from. */
export function historyOf(
  world: World,
  { target = 'duckdb', isTimeless = false }: HistoryOptions = {},
): Promise<Readonly<Record<string, readonly string[]>>> {
  return querying(world, target, async (rows) => {
    const histories: Record<string, readonly string[]> = {};
    for (const pipeline of tables) {
      const columns = isTimeless ? timeless(pipeline) : [...textColumns(pipeline, []), ...instants(pipeline)];
      const found = await rows(`SELECT ${columns.join(', ')} FROM warehouse.${pipeline.table}`);
      histories[pipeline.table] = found.map((row) => row.map(spelled).join(' ')).sort();
    }
    return histories;
  });
}

type Cell = string | boolean | null;

function spelled(value: Cell): string {
  if (value === null) return '-';
  return /^[[{]/.test(String(value)) ? JSON.stringify(inOrder(JSON.parse(String(value)))) : String(value);
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, inOrder(member)] as const);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Many queries on one warehouse. */
function querying<T>(
  world: World,
  name: TargetName,
  work: (rows: (sql: string) => Promise<readonly (readonly Cell[])[]>) => Promise<T>,
): Promise<T> {
  return world.within(({ targets }) => {
    const target = targets.find((one) => one.name === name);
    if (!target) throw new Error(`no target ${name}`);
    return work(async (sql) => (await target.query(sql, 1_000_000)).rows);
  });
}

function timeless(pipeline: Pipeline): string[] {
  return textColumns(pipeline, [FETCH_COLUMN]);
}

function instants(pipeline: Pipeline): string[] {
  const names = storedColumns(pipeline).flatMap(({ column }) => (INSTANTS.includes(column) ? [column] : []));
  return names.map((name) => `CAST(extract(epoch FROM ${name}) AS DECIMAL(18, 3))`);
}

const INSTANTS: readonly string[] = [OBSERVED_FROM, VALID_FROM, VALID_TO];

function textColumns(pipeline: Pipeline, without: readonly string[]): string[] {
  return storedColumns(pipeline)
    .filter(({ column }) => !INSTANTS.includes(column) && !without.includes(column))
    .map(({ column, kind }) => (kind === 'ratio' ? `CAST("${column}" AS DECIMAL(18, 6))` : `"${column}"`));
}

/**
 * What is never right: a row that ends after the next one begins, one that says what the one before said, and a part that does not begin
 * and end with the row that it belongs to. Empty when all is well.
 */
export function flawsIn(world: World, target: TargetName = 'duckdb'): Promise<string[]> {
  return querying(world, target, async (rows) => {
    const found: (readonly Cell[])[] = [];
    for (const one of pipelines) {
      if (one.keepsHistory) found.push(...(await rows(historyFlaws(one))));
      const whole = one.merge?.within && pipelines.find(({ name }) => name === one.merge?.within);
      if (whole) found.push(...(await rows(partFlaws(whole, one))));
    }
    return found.map((row) => row.map((value) => value ?? '-').join(' '));
  });
}

/** A row that ends before the next one begins is of an item that was gone; one that says what the one before said did not change. */
function historyFlaws({ name, table, columns, key, merge }: Pipeline): string {
  const aside = [OBSERVED_ON, VALID_FROM, ...(merge?.ignore ?? [])];
  // A part ends with its parent, also where the next one has the same.
  const isPart = merge !== null && merge.within !== null;
  const says = [...columns.map(({ column }) => column), EXTRA_COLUMN]
    .filter((column) => !aside.includes(column))
    .map((column) => `coalesce(CAST("${column}" AS text), '-')`)
    .join(` || ' ' || `);
  const line = `OVER (PARTITION BY ${(key ?? []).join(', ')} ORDER BY valid_from)`;
  return `SELECT '${name}', says, valid_from, valid_to, ended_by FROM (
      SELECT valid_from, valid_to, ended_by, says, lead(valid_from) ${line} AS after, lag(says) ${line} AS before, lag(valid_to) ${line} AS ended
      FROM (SELECT *, ${says} AS says FROM warehouse.${table}_version) AS seen) AS seen
    WHERE valid_to <= valid_from OR after < valid_to OR (after IS NOT NULL AND valid_to IS NULL) OR (valid_to IS NULL) <> (ended_by IS NULL)
      ${isPart ? '' : `OR (says = before AND ended = valid_from) OR (ended_by <> 'gone' AND after IS DISTINCT FROM valid_to)`}`;
}

function partFlaws(whole: Pipeline, part: Pipeline): string {
  const same = [...(part.merge?.by ?? []), VALID_FROM].map((c) => `w.${c} IS NOT DISTINCT FROM p.${c}`);
  return `SELECT '${part.name}', p.ean, p.${VALID_FROM}, p.${VALID_TO}, w.${VALID_TO}
    FROM warehouse.${part.table}_version AS p LEFT JOIN warehouse.${whole.table}_version AS w ON ${same.join(' AND ')}
    WHERE w.ean IS NULL OR w.${VALID_TO} IS DISTINCT FROM p.${VALID_TO}`;
}

/** What the current versions say that the sandbox does not, and the other way round, for products and reductions; rates have their own. */
export async function productDifferences(
  world: World,
  eans: readonly string[],
  target: TargetName = 'duckdb',
): Promise<string[]> {
  const held = await rowsOf(
    world,
    `SELECT ean, outcome, title, offer_price FROM warehouse.dim_product ORDER BY ean`,
    target,
  );
  const told = eans.map((ean) => {
    const truth = world.sandbox.truthOfProduct(ean, 'NL', 'nl') as
      | { readonly title: string; readonly offer: { readonly price: string } }
      | undefined;
    return truth ? [ean, 'found', truth.title, Number(truth.offer.price).toFixed(6)].join(' ') : `${ean} not_found - -`;
  });
  return apart(held, told);
}

export async function fileDifferences(world: World, target: TargetName = 'duckdb'): Promise<string[]> {
  const held = await rowsOf(
    world,
    'SELECT ean, maximum_price, cost_reduction, start_date, end_date FROM warehouse.fact_reduction',
    target,
  );
  const [, ...lines] = world.sandbox.reductionsFile().text.trim().split('\n');
  const told = lines.map((line) => {
    const [ean, maximum, cost, start, end] = line.split(',');
    return [ean, Number(maximum).toFixed(6), Number(cost).toFixed(6), start, end].join(' ');
  });
  return apart(held, told);
}

function apart(held: readonly string[], told: readonly string[]): string[] {
  const [a, b] = [new Set(held), new Set(told)];
  return [
    ...told.filter((row) => !a.has(row)).map((row) => `missing ${row}`),
    ...held.filter((row) => !b.has(row)).map((row) => `too much ${row}`),
    ...(held.length === a.size ? [] : ['rows stand twice']),
  ];
}
