import { AssertionError } from 'node:assert';
import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { ByteBuffer } from '../../src/json/byte-buffer.ts';
import type { SplitReject } from '../../src/json/interface.ts';
import { LineWriter } from '../../src/json/line-writer.ts';
import { Splitter } from '../../src/json/splitter.ts';
import { bytesOf, FIELDS, LIMITS_OF_TESTS, outcomeOf, split } from './split-outcome.ts';

const MiB = 1024 * 1024;

describe('drift', () => {
  it('is counted by kind and field, with the first value as example', () => {
    const items = [
      '{"id":17,"price":"1.50","final":"true","new":{"a":1},"b":"x"}',
      '{"id":true,"price":2,"final":false,"new":[],"b":"y\\u0000\\u0000"}',
      '{"id":"a\\ud800","price":"3","\\ud800":1,"n\\u0000ew":null}',
    ];
    const { result } = outcomeOf(
      bytesOf(`{"page":3,"items":[${items.join(',')}],"next":{"a":[]},"l":["x"],"t":"${'é'.repeat(50)}"}`),
    );
    expect(result!.drift).toEqual([
      { kind: 'text_as_number', field: 'id', count: 1, example: '17' },
      { kind: 'boolean_as_text', field: 'id', count: 1, example: 'true' },
      { kind: 'lone_surrogate', field: 'id', count: 1, example: 'a?' },
      { kind: 'number_as_text', field: 'price', count: 2, example: '1.50' },
      { kind: 'boolean_as_text', field: 'final', count: 1, example: 'true' },
      { kind: 'unknown_field', field: 'new', count: 3, example: '{"a":1}' },
      { kind: 'nul_removed', field: 'new', count: 1, example: 'new' },
      { kind: 'unknown_field', field: 'b', count: 2, example: '"x"' },
      { kind: 'nul_removed', field: 'b', count: 2, example: 'y' },
      { kind: 'unknown_field', field: '?', count: 1, example: '1' },
      { kind: 'lone_surrogate', field: '?', count: 1, example: '?' },
      { kind: 'unknown_member', field: 'page', count: 1, example: '3' },
      { kind: 'unknown_member', field: 'next', count: 1, example: '{' },
      { kind: 'unknown_member', field: 'l', count: 1, example: '[' },
      { kind: 'unknown_member', field: 't', count: 1, example: `${'é'.repeat(39)}…` },
    ]);
  });

  it('keeps the first hundred unknown names and counts the rest together', () => {
    const items = Array.from({ length: 150 }, (_, n) => `{"new${n}":${n},"id":"a"}`);
    const { drift } = split(bytesOf(`{"items":[${items.join(',')},{"new7":1,"${'k'.repeat(300)}":1}]}`)).result!;
    expect(drift).toHaveLength(101);
    expect(drift[7]).toEqual({ kind: 'unknown_field', field: 'new7', count: 2, example: '7' });
    expect(drift[100]).toEqual({ kind: 'unknown_field', field: '…', count: 51, example: '100' });
  });

  it('shows nothing in its examples that a terminal would obey', () => {
    const { drift } = split(bytesOf('{"items":[{"new\\n\u009b\u202e":"\u009b31m\u202e"}]}')).result!;
    expect(drift).toEqual([{ kind: 'unknown_field', field: 'new???', count: 1, example: '"?31m?"' }]);
  });
});

describe('exponents', () => {
  it.each([
    ['{"price":1.5},{"price":2e1}', true],
    ['{"price":-0.0E+5}', true],
    ['{"price":"3E-2"}', true],
    ['{"price":"3\\u00452"}', true],
    ['{"price":1.5},{"price":"20"},{"price":null},{"final":true}', false],
    ['{"id":"1e2","final":"true"},{"new":1e2}', false],
    ['{"id":1e2}', true],
  ])('are reported of the numbers of known fields: %s', (items, told) => {
    const answer = bytesOf(`{"items":[${items}]}`);
    for (const cuts of [[], Array.from({ length: answer.length - 1 }, (_, at) => at + 1)])
      expect(split(answer, cuts).result!.hasExponents).toBe(told);
  });
});

describe('a number of an unknown field', () => {
  it('stays as it is written, but for one that no warehouse can hold, which becomes a text', () => {
    const numbers = ['1e1000', '-2E+1000', '1.50', '1e1001', '[-3.2E-99999]', '9'.repeat(1001)];
    const items = numbers.map((number) => `{"new":${number}}`);
    const { lines, result } = split(bytesOf(`{"items":[${items.join(',')}]}`));
    expect(lines.map((line) => (JSON.parse(line) as { _x: string })._x)).toEqual([
      '{"new":1e1000}',
      '{"new":-2E+1000}',
      '{"new":1.50}',
      '{"new":"1e1001"}',
      '{"new":["-3.2E-99999"]}',
      `{"new":"${'9'.repeat(1001)}"}`,
    ]);
    expect(result?.drift.map(({ kind, count }) => `${kind} ${count}`)).toEqual(['unknown_field 6', 'huge_number 3']);
  });
});

describe('a line', () => {
  it('says numbers and offsets past 2^31, and lengths of other digits than the one before', () => {
    const pieces: string[] = [];
    const lines = new LineWriter((piece) => pieces.push(Buffer.from(piece).toString()));
    const numbers = [0, 9, 10, 999_999_999, 1e9, 2 ** 31, 2 ** 32 + 1, 5_000_000_007, 2 ** 53 - 1];
    for (const n of numbers) {
      lines.begin(n, Number.MAX_SAFE_INTEGER - n, 0);
      lines.finish(n % 10_000, new ByteBuffer(1), null);
    }
    lines.flush();
    const expected = numbers.map((n) => `{"_i":"${n}","_o":"${Number.MAX_SAFE_INTEGER - n}","_l":"${n % 10_000}"}\n`);
    expect(pieces.join('')).toBe(expected.join(''));
  });
});

describe('the splitter', () => {
  it('goes through an object of 100,000 keys, and finds the one that comes twice', () => {
    const keys = Array.from({ length: 100_000 }, (_, n) => `"k${n}":${n}`).join(',');
    const limits = { ...LIMITS_OF_TESTS, itemBytes: 16 * MiB };
    const answer = bytesOf(`{"items":[{"a":{${keys}},"k7":1},{${keys},"k\\u0037":1}]}`);
    const { result, rejects } = split(answer, [], FIELDS, limits);
    expect(result).toMatchObject({ items: 2, lines: 1, rejects: 1 });
    expect(rejects).toMatchObject([{ item: 1, reason: 'duplicate_key', detail: expect.stringContaining('`k7`') }]);
  });

  it('keeps no more of an item than it may have', () => {
    const rejects: SplitReject[] = [];
    const splitter = new Splitter({
      fields: FIELDS,
      limits: { itemBytes: MiB, itemDepth: 8, answerBytes: 1024 * MiB },
      onLines: () => undefined,
      onReject: (reject) => rejects.push(reject),
    });
    splitter.write(bytesOf('{"items":[{"id":"'));
    const before = process.memoryUsage().arrayBuffers;
    const chunk = Buffer.alloc(MiB, 'x');
    for (let n = 0; n < 100; n++) splitter.write(chunk);
    const grown = process.memoryUsage().arrayBuffers - before;
    splitter.write(bytesOf('"},{}]}'));
    expect(splitter.end()).toMatchObject({ items: 2, lines: 1, rejects: 1, bytes: 100 * MiB + 24 });
    expect(rejects).toMatchObject([{ item: 0, offset: 10, length: 100 * MiB + 9, reason: 'item_too_large' }]);
    expect(grown).toBeLessThan(8 * MiB);
  });

  it('follows a million brackets, and refuses what nests without end', () => {
    const deep = (levels: number) => bytesOf(`{"items":[{"new":${'['.repeat(levels)}${']'.repeat(levels)}},{}]}`);
    expect(split(deep(1_000_000)).result).toMatchObject({ items: 2, lines: 1, rejects: 1 });
    expect(split(deep(1_100_000)).refused).toMatchObject({ code: 'malformed' });
  });

  it('hands lines on in pieces of a quarter of a mebibyte, each ending with a line', () => {
    const pieces: Buffer[] = [];
    const splitter = new Splitter({
      fields: FIELDS,
      limits: LIMITS_OF_TESTS,
      onLines: (lines) => pieces.push(Buffer.from(lines)),
      onReject: () => undefined,
    });
    splitter.write(
      bytesOf(`{"items":[${Array.from({ length: 40_000 }, (_, n) => `{"id":"number ${n}"}`).join(',')}]}`),
    );
    expect(splitter.end().lines).toBe(40_000);
    expect(pieces.slice(0, -1).every(({ length }) => length >= 256 * 1024 && length < 257 * 1024)).toBe(true);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.every((piece) => piece.at(-1) === 0x0a)).toBe(true);
    expect(Buffer.concat(pieces).toString().split('\n')).toHaveLength(40_001);
  });

  it('gives the same error again when it is used after one', () => {
    const ignored = () => undefined;
    const splitter = new Splitter({ fields: FIELDS, limits: LIMITS_OF_TESTS, onLines: ignored, onReject: ignored });
    expect(() => splitter.write(bytesOf('{"items":[}'))).toThrow(expect.objectContaining({ code: 'malformed' }));
    expect(() => splitter.write(bytesOf(']}'))).toThrow(expect.objectContaining({ code: 'malformed' }));
    expect(() => splitter.end()).toThrow(expect.objectContaining({ code: 'malformed' }));
  });

  it.each([['_i'], ['_x'], ['id']])('takes no second field or key of its own named %s', (field) => {
    const fields = [...FIELDS, { field, expect: 'text' as const }];
    expect(() => split(bytesOf('{"items":[]}'), [], fields)).toThrow(AssertionError);
  });

  it('finds fields in any order, with some absent and others new', () => {
    const names = FIELDS.map(({ field }) => JSON.stringify(field));
    const values: Record<string, string> = { '"price"': '1.0', '"final"': 'true' };
    const items = Array.from({ length: 200 }, (_, n) => {
      const order = names.filter((_name, i) => (n >> i) % 3 !== 0).sort((a, b) => (a + n < b + n ? -1 : 1));
      const rotated = [...order.slice(n % 4), ...order.slice(0, n % 4)];
      return `{${rotated.map((name) => `${name}:${values[name] ?? '"t"'}`).join(n % 5 === 0 ? ' , ' : ',')}}`;
    });
    const { lines } = outcomeOf(bytesOf(`{"items":[${items.join(',')}]}`));
    const told = lines.map((line) => line.replace(/^\{"_i":"\d+","_o":"\d+","_l":"\d+",?/, '{'));
    expect(told).toEqual(items.map((item) => item.replace(/ , /g, ',').replace(/1\.0|true/g, '"$&"')));
  });
});
