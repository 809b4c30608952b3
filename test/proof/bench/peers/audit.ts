/** What lies in an engine after a load, and whether it is what the answer said. */
import pg from 'pg';
import { Engine, quoteText } from '../../../../src/engine/duckdb.ts';
import { AMOUNTS, type Amount, type EngineName, type Place, type Table } from './peer.ts';
import { shortOf, type Truth, totalOf, unitsOf } from './truth.ts';

type TextRow = Readonly<Record<string, string | null>>;

export interface Audit {
  readonly rows: number;
  /** By day: rows, keys, and the sum of each amount after rounding every value to six decimals. */
  readonly days: ReadonlyMap<string, TextRow>;
  /** What `sum(column)` says of each amount. */
  readonly sums: TextRow;
  readonly types: readonly string[];
}

async function ask(place: Place, tempDir: string, statements: readonly string[]): Promise<TextRow[][]> {
  if (place.engine === 'postgres') {
    const client = new pg.Client({ connectionString: place.address });
    await client.connect();
    try {
      const answers: TextRow[][] = [];
      for (const sql of statements) answers.push((await client.query<TextRow>(sql)).rows);
      return answers;
    } finally {
      await client.end();
    }
  }
  const engine = await Engine.open({ tempDir, file: place.address, readOnly: true });
  try {
    const answers: TextRow[][] = [];
    for (const sql of statements) answers.push((await engine.rows(sql)) as TextRow[]);
    return answers;
  } finally {
    engine.close();
  }
}

const textOf = (sql: string) => `CAST(${sql} AS varchar)`;

/** To six decimals, without what doubles have behind them. */
function rounded(engine: EngineName, column: string): string {
  return engine === 'postgres' ? `round(CAST(${column} AS numeric), 6)` : `CAST(${column} AS DECIMAL(38, 6))`;
}

export async function audit(place: Place, table: Table, tempDir: string): Promise<Audit> {
  const { name, column } = table;
  const typeOf = place.engine === 'postgres' ? 'pg_typeof' : 'typeof';
  const day = `substr(${textOf(column('orderDate'))}, 1, 10)`;
  const [days = [], [sums = {}] = [], [types = {}] = []] = await ask(place, tempDir, [
    `SELECT ${day} AS day, ${textOf('count(*)')} AS rows, ${textOf(`count(DISTINCT ${column('orderItemId')})`)} AS keys,
       ${AMOUNTS.map((a) => `${textOf(`sum(${rounded(place.engine, column(a))})`)} AS "${a}"`).join(', ')}
     FROM ${name} GROUP BY 1 ORDER BY 1`,
    `SELECT ${AMOUNTS.map((a) => `${textOf(`sum(${column(a)})`)} AS "${a}"`).join(', ')} FROM ${name}`,
    `SELECT ${AMOUNTS.map((a) => `${textOf(`${typeOf}(${column(a)})`)} AS "${a}"`).join(', ')} FROM ${name} LIMIT 1`,
  ]);
  return {
    rows: days.reduce((sum, { rows }) => sum + Number(rows), 0),
    days: new Map(days.map((row) => [row.day ?? '', row])),
    sums,
    types: [...new Set(AMOUNTS.map((amount) => (types[amount] ?? '?').toLowerCase()))],
  };
}

/** One row's amounts as the engine writes them; undefined where there is no such row. */
export async function readItem(
  place: Place,
  table: Table,
  tempDir: string,
  item: string,
): Promise<TextRow | undefined> {
  const amounts = AMOUNTS.map((amount) => `${textOf(table.column(amount))} AS "${amount}"`).join(', ');
  const where = `${table.column('orderItemId')} = ${quoteText(item)}`;
  const [[found] = []] = await ask(place, tempDir, [`SELECT ${amounts} FROM ${table.name} WHERE ${where}`]);
  return found;
}

/** What differs, day by day: '' for nothing. */
export function differenceOfRows({ days }: Audit, truth: Truth): string {
  const wrong = [...new Set([...days.keys(), ...truth.keys()])].filter((day) => {
    const rows = String(truth.get(day)?.rows ?? 0);
    return (days.get(day)?.rows ?? '0') !== rows || (days.get(day)?.keys ?? '0') !== rows;
  });
  const [first] = wrong;
  if (first === undefined) return '';
  const { rows = '0', keys = '0' } = days.get(first) ?? {};
  const more = wrong.length === 1 ? '' : `, and ${wrong.length - 1} more days`;
  return `${first}: ${rows} rows of ${keys} items, ${truth.get(first)?.rows ?? 0} in the answer${more}`;
}

export interface Sums {
  /** `sum(column)` of every amount is the answer's, to the last digit. */
  readonly exact: boolean;
  /** Every day's sums are, once each value is rounded to six decimals. */
  readonly rounded: boolean;
  readonly told: string;
}

export function compareSums(found: Audit, truth: Truth): Sums {
  const off = (amount: Amount) => unitsOf(found.sums[amount] ?? '0') - totalOf(truth, amount);
  const wrong = AMOUNTS.filter((amount) => off(amount) !== 0n);
  const isRounded = [...truth].every(([day, { sums }]) =>
    AMOUNTS.every((amount) => unitsOf(found.days.get(day)?.[amount] ?? '0') === sums[amount]),
  );
  const types = found.types.join(', ');
  const first = wrong[0];
  if (first === undefined) return { exact: true, rounded: isRounded, told: `exact (${types})` };
  const values = isRounded ? 'each value right to six decimals' : 'values differ';
  return {
    exact: false,
    rounded: isRounded,
    told: `no: ${wrong.length} of ${AMOUNTS.length} off, ${first} by ${shortOf(off(first))}; ${values} (${types})`,
  };
}
