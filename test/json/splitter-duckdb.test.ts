/** What DuckDB's reader makes of the splitter's lines: exactly what the answer said. */
import { Buffer } from 'node:buffer';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine, quoteName, quoteText, type Row } from '../../src/engine/duckdb.ts';
import { OWN_KEYS } from '../../src/json/known-fields.ts';
import { bytesOf, FIELDS, LIMITS_OF_TESTS, type Outcome, split } from './split-outcome.ts';

let dir: string;
let engine: Engine;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'splitter-'));
  engine = await Engine.open({ tempDir: join(dir, 'spill'), threads: 2 });
});

afterAll(() => {
  engine.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The rows of the lines, in their order. `objectBytes` is the reader's limit for one line. */
async function read({ lines, result }: Outcome, objectBytes = result!.longestLineBytes): Promise<Row[]> {
  const file = join(dir, 'lines.ndjson');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  const columns = [...OWN_KEYS, ...FIELDS.map(({ field }) => field)].map((name) => `${quoteName(name)}: 'VARCHAR'`);
  return engine.rows(
    `SELECT * FROM read_json(${quoteText(file)}, format = 'newline_delimited', records = true,
       columns = {${columns.join(', ')}}, maximum_object_size = ${objectBytes}) ORDER BY _i::BIGINT`,
  );
}

/** The id of an answer's only item, as DuckDB reads it. */
const TEXTS: readonly (readonly [json: string, value: string | null])[] = [
  ['null', null],
  ['"null"', 'null'],
  ['"NULL"', 'NULL'],
  ['""', ''],
  ['" "', ' '],
  ['"a\\"b\\\\c\\/d\\be\\ff\\ng\\rh\\ti"', 'a"b\\c/d\be\ff\ng\rh\ti'],
  ['"\\u0041\\u00e9\\u20AC"', 'Aé€'],
  ['"\\u0001\\u001f\\u007f\u007f"', '\u0001\u001f\u007f\u007f'],
  ['"\\ud83d\\ude00 \\uD83D\\uDE00 😀"', '😀 😀 😀'],
  ['"\u{10ffff}\\udbff\\udfff\uffff\\uffff\\ufffe"', '\u{10ffff}\u{10ffff}\uffff\uffff\ufffe'],
  ['"\\u2028\u2028\u0085\ufeff\\ufeff"', '\u2028\u2028\u0085\ufeff\ufeff'],
  ['"x\\ud800y\\udc00"', 'x\ufffdy\ufffd'],
  ['"a\\u0000b"', 'ab'],
  ['"\\u0000"', ''],
  ['1234567890123456789012.50', '1234567890123456789012.50'],
  ['true', 'true'],
  ['"true"', 'true'],
  ['"{\\"a\\":1}"', '{"a":1}'],
  ['"[1,2]"', '[1,2]'],
  ['"2024-02-30"', '2024-02-30'],
];

describe('DuckDB', () => {
  it('reads every text, null and literal as it was meant', async () => {
    const items = TEXTS.map(([json]) => `{"id":${json}}`);
    const rows = await read(split(bytesOf(`{"items":[${items.join(',')}]}`)));
    expect(rows.map(({ id }) => id)).toEqual(TEXTS.map(([, value]) => value));
  });

  it('reads every digit of numbers, and casts them exactly', async () => {
    const literals = ['12.10', '12345678901234.567891', '-0', '1e2', '9007199254740993', '123456789012.345678', '0.1'];
    const rows = await read(split(bytesOf(`{"items":[${literals.map((n) => `{"price":${n}}`).join(',')}]}`)));
    expect(rows.map(({ price }) => price)).toEqual(literals);
    const cast = await engine.row(
      `SELECT ('12345678901.234567'::DECIMAL(18,6))::VARCHAR AS exact, '1e2'::DECIMAL(18,6)::VARCHAR AS power`,
    );
    expect(cast).toEqual({ exact: '12345678901.234567', power: '100.000000' });
  });

  it('reads the unknown fields as JSON whose numbers keep their digits', async () => {
    const extra = '{"a\\"b":[1.00,12345678901234567890.5,{"c\\\\":"\\u0041\\n😀"},null,true],"":{}}';
    const [row] = await read(split(bytesOf(`{"items":[${extra.slice(0, -1)},"id":"x"}]}`)));
    expect(row).toMatchObject({ id: 'x', _x: extra });
    const cast = await engine.row(
      `SELECT json_valid(x) AS ok, x->>'$."a\\"b"[2]."c\\\\"' AS deep FROM (SELECT ${quoteText(String(row!._x))} AS x)`,
    );
    expect(cast.ok).toBe(true);
  });

  it('reads texts as long as an item may be, with the longest line as its limit', async () => {
    const limits = { ...LIMITS_OF_TESTS, itemBytes: 1 << 22 };
    const sizes = [1, (1 << 20) - 1, 1 << 20, 3, (1 << 22) - 9, 0];
    const items = sizes.map((size) => `{"id":"${'é'.repeat(size >> 1)}${'x'.repeat(size & 1)}"}`);
    const outcome = split(bytesOf(`{"items":[${items.join(',')}]}`), [], FIELDS, limits);
    expect(outcome.result).toMatchObject({ lines: 6, longestLineBytes: Math.max(...outcome.lines.map(lineBytes)) });
    const rows = await read(outcome);
    expect(rows.map(({ id }) => Buffer.byteLength(String(id)))).toEqual(sizes);
  });

  it('reads many lines with no more than the longest line allowed', async () => {
    const items = Array.from({ length: 30_000 }, (_, n) => `{"id":"${'é\\n'.repeat(n % 97)}","price":${n}.10}`);
    const outcome = split(bytesOf(`{"items":[${items.join(',')}]}`));
    const rows = await read(outcome);
    expect(rows.map(({ price }) => price)).toEqual(items.map((_, n) => `${n}.10`));
  });

  it('takes every line that comes out of a damaged answer, and loses none', async () => {
    const stroke = fc.record({ at: fc.nat(), byte: fc.nat(255) });
    const sound = bytesOf(
      `{"items":[${TEXTS.map(([json], n) => `{"id":${json},"price":${n}.50,"final":true,"new":[{"k":${json}}]}`).join(',\n')}]}`,
    );
    const outcomes = fc
      .sample(fc.array(stroke, { minLength: 1, maxLength: 3 }), { numRuns: 150, seed: 11 })
      .map((strokes) => {
        const answer = Uint8Array.from(sound);
        for (const { at, byte } of strokes) answer[at % answer.length] = byte;
        return split(answer);
      })
      .filter(({ result }) => result !== undefined);
    const lines = outcomes.flatMap((outcome) => outcome.lines);
    const longestLineBytes = Math.max(...outcomes.map(({ result }) => result!.longestLineBytes));
    expect(lines.length).toBeGreaterThan(500);
    const rows = await read({ lines, rejects: [] }, longestLineBytes);
    const expected = lines.map((line) => JSON.parse(line) as Record<string, string | null>);
    const byText = (a: string, b: string) => (a < b ? -1 : 1);
    const told = (row: Row | Record<string, string | null>) =>
      JSON.stringify([...OWN_KEYS, ...FIELDS.map(({ field }) => field)].map((name) => row[name] ?? null));
    expect(rows.map(told).sort(byText)).toEqual(expected.map(told).sort(byText));
  });
});

function lineBytes(line: string): number {
  return Buffer.byteLength(line) + 1;
}
