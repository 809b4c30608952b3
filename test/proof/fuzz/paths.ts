/**
 * The whole way of an answer, from the fetch to both warehouses: nothing is lost, no value is changed, and no answer is a bug of ours.
 * One home and one database serve all inputs, so that each answer also restates the one before it.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { orders } from '../../../pipelines/orders.ts';
import type { TargetName } from '../../../src/warehouse/target-name.ts';
import { type Nights, openNights } from '../eyes/night.ts';
import { startService } from '../eyes/service.ts';
import { alsoDamaged, choices, hostileText, jsonText, noNumber, numberLiteral } from './hostile.ts';
import {
  depthOf,
  fixed,
  fixedValue,
  hasTwins,
  isMembers,
  type Members,
  member,
  type Plain,
  plainJson,
} from './plain-json.ts';
import { type Subject, utf8 } from './subject.ts';
import { type Wanted, wantedOf } from './values.ts';

const DAYS = ['2026-03-18', '2026-03-19'];
const DEEPEST = 64;
const columns = orders.columns;
const kindOf = (kind: string) => wantedOf[kind === 'percentage' ? 'money' : kind]!;

interface Expected {
  /** As texts by column, null where nothing was sent. */
  readonly rows: readonly string[];
  readonly rejects: number;
  readonly duplicates: number;
}

/** What is to become of the items, by the rules told a second time. */
function expectedOf(items: readonly Plain[]): Expected {
  const byKey = new Map<string, string>();
  let [rejects, duplicates] = [0, 0];
  for (const item of items.toReversed()) {
    const row = rowOf(item);
    if (row === null) {
      rejects++;
      continue;
    }
    const key = JSON.stringify([row.cells.order_id, row.cells.order_item_id]);
    const winner = byKey.get(key);
    const whole = JSON.stringify(row);
    if (winner === undefined) byKey.set(key, whole);
    else if (winner === whole) duplicates++;
    else rejects++;
  }
  const rows = [...byKey.values()].map((whole) => asHandedOver((JSON.parse(whole) as Row).cells));
  return { rows: rows.sort(), rejects, duplicates };
}

interface Row {
  readonly cells: Readonly<Record<string, string | null>>;
  /** Unknown fields as sent; two rows that differ in them are two. */
  readonly extra: Plain;
}

/** null for what is set aside. */
function rowOf(item: Plain): Row | null {
  if (!isMembers(item) || hasTwins(item, fixed) || depthOf(item) > DEEPEST) return null;
  const sent = fixedValue(item) as typeof item;
  const cells: Record<string, string | null> = {};
  for (const { field, column, kind, required } of columns) {
    const wanted: Wanted = kindOf(kind)(member(sent, field) ?? null);
    if ((wanted !== null && typeof wanted === 'object') || (required && (wanted === null || wanted === '')))
      return null;
    cells[column] = wanted;
  }
  if (!DAYS.includes(cells.order_date!)) return null;
  return {
    cells,
    extra: sent.members.filter(([name]) => !columns.some(({ field }) => field === name)) as unknown as Plain,
  };
}

function asHandedOver(cells: Readonly<Record<string, string | null>>): string {
  return JSON.stringify(columns.map(({ column }) => cells[column]));
}

/** Beside the answer: what it is told to say. */
class Paths {
  private readonly nights: Nights;
  private readonly say: (answer: Uint8Array) => void;
  private readonly targets: readonly TargetName[];

  constructor(nights: Nights, say: (answer: Uint8Array) => void, targets: readonly TargetName[]) {
    this.nights = nights;
    this.say = say;
    this.targets = targets;
  }

  async prove(answer: Uint8Array): Promise<void> {
    this.say(answer);
    const sound = soundAnswer(answer);
    const { errors, exitCode } = await this.nights.night('orders');
    const items = isMembers(sound) ? member(sound, 'items') : undefined;
    if (errors.length > 0) {
      assert.deepEqual(
        errors.filter(({ kind }) => kind === 'bug'),
        [],
      );
      const isReport =
        Array.isArray(items) && !hasTwins({ members: (sound as Members).members.map(([name]) => [name, null]) });
      assert.ok(!isReport, `a sound report was refused: ${errors.map(({ message }) => message).join(', ')}`);
      return;
    }
    assert.ok([0, 3].includes(exitCode), `exit ${exitCode}`);
    if (!Array.isArray(items)) return; // some items were no JSON: what came through is proved by the splitter's own subject
    const expected = expectedOf(items as Plain[]);
    for (const target of this.targets) await this.proveTarget(target, expected, items.length);
  }

  private async proveTarget(target: TargetName, { rows, rejects, duplicates }: Expected, items: number): Promise<void> {
    const values = columns.map(({ column, kind }) => (kind === 'day' ? `CAST("${column}" AS VARCHAR)` : `"${column}"`));
    const held = await this.nights.rows(`SELECT ${values.join(', ')} FROM warehouse.fact_order_item`, target);
    const cells = held.map((row) =>
      asHandedOver(Object.fromEntries(columns.map(({ column }, i) => [column, row[i] ?? null]))),
    );
    assert.deepEqual(cells.sort(), rows, `rows in ${target}`);
    const receipt = `SELECT CAST(sum(rows) AS VARCHAR), CAST(sum(rejects) AS VARCHAR), CAST(sum(duplicates) AS VARCHAR)
      FROM etl.receipt WHERE pipeline = 'orders' AND superseded_at IS NULL`;
    const [told = []] = await this.nights.rows(receipt, target);
    const counts = told.map((count) => Number(count ?? 0));
    assert.deepEqual(counts, [rows.length, rejects, duplicates], `receipts in ${target}`);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      items,
    );
    const kept = await this.nights.rows(`SELECT count(*) FROM etl.reject WHERE pipeline = 'orders'`, target);
    assert.equal(Number(kept[0]?.[0]), rejects, `rejects in ${target}`);
  }
}

function soundAnswer(answer: Uint8Array): Plain | undefined {
  try {
    return plainJson(new TextDecoder('utf-8', { fatal: true }).decode(answer));
  } catch {
    return undefined;
  }
}

const fields = (kinds: readonly string[]) =>
  columns.filter((c) => kinds.includes(c.kind) && !c.required).map((c) => c.field);
const quoted = (text: fc.Arbitrary<string>) => fc.tuple(text, choices).map(([of, next]) => jsonText(of, next));
const entry = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...fields(['text'])), quoted(hostileText)) },
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constantFrom(...fields(['money', 'percentage', 'count'])),
      fc.oneof(numberLiteral, quoted(numberLiteral)),
    ),
  },
  fc.tuple(fc.constantFrom(...fields(['money', 'count', 'boolean'])), quoted(noNumber)),
  fc.tuple(fc.constantFrom('statusFinal', 'approvedForPayment'), fc.constantFrom('true', 'false', 'null', '"true"')),
  fc.tuple(fc.constantFrom('status'), fc.constantFrom('"Open"', '"Geaccepteerd"', '"geweigerd: x"')),
  fc.tuple(
    fc.constantFrom('orderDateTime'),
    fc.constantFrom('"2026-03-18 12:00:00"', '"infinity"', '"2026-03-29 02:30:00"'),
  ),
  fc.tuple(
    fc.constantFrom('voucher', '__proto__', 'a"b', 'x'),
    fc.oneof(numberLiteral, quoted(hostileText), fc.constant('{"a":[1,null]}')),
  ),
);
const day = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...DAYS) },
  fc.constantFrom('2026-03-17', '2026-02-30', '', 'infinity'),
);
const id = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 30 }).map(String) }, hostileText);
const item = fc
  .tuple(day, quoted(id), quoted(id), fc.uniqueArray(entry, { maxLength: 6, selector: ([name]) => name }), choices)
  .map(([on, order, part, entries, next]) => {
    const known = [`"orderDate":"${on}"`, `"orderId":${order}`, `"orderItemId":${part}`];
    return `{${[...known, ...entries.map(([name, json]) => `${jsonText(name, next)}:${json}`)].join(',')}}`;
  });
const items = fc.array(
  fc.oneof({ weight: 30, arbitrary: item }, fc.constantFrom('null', '[]', '"x"', '{}', '{"orderDate":1}')),
  { maxLength: 40, size: 'max' },
);
/** Some items twice: exact duplicates. */
const answers = fc
  .tuple(items, fc.nat(3))
  .map(([all, twice]) => utf8(`{"items":[${[...all, ...all.slice(0, twice)].join(',')}]}`));

/** `postgresUrl`: a database of its own; null: DuckDB alone. */
export async function openPaths(postgresUrl: string | null): Promise<Subject> {
  let answer: Uint8Array = new Uint8Array();
  const service = await startService({ orders: () => answer });
  const nights = await openNights({
    url: service.url,
    today: '2026-03-20',
    lookbackDays: 2,
    ...(postgresUrl === null ? {} : { postgresUrl }),
  });
  const say = (told: Uint8Array) => {
    answer = told;
  };
  const paths = new Paths(nights, say, postgresUrl === null ? ['duckdb'] : ['duckdb', 'postgres']);
  const around = (title: string) =>
    utf8(`{"items":[{"orderDate":"2026-03-18","orderId":"1","orderItemId":"1","productTitle":"${title}"}]}`);
  return {
    name: 'paths',
    extension: 'txt',
    inputs: fc.oneof({ weight: 9, arbitrary: answers }, alsoDamaged(answers)),
    prove: (input) => paths.prove(input),
    shortRuns: 3,
    large: { 'a text of 3 MB': () => around('x'.repeat(3 * 1024 * 1024)) },
    close: async () => {
      await nights.close();
      await service.close();
    },
  };
}
