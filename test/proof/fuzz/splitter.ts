/** The splitter against JSON.parse: values as they were sent, numbers with every digit, and nothing unsound out of damage. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { everyByte, FIELDS, LIMITS_OF_TESTS, type Outcome, someCuts, split } from '../../json/split-outcome.ts';
import { alsoDamaged, choices, hostileText, jsonText, numberLiteral } from './hostile.ts';
import {
  decimalOf,
  depthOf,
  fixed,
  fixedValue,
  hasTwins,
  isMembers,
  isNumeral,
  member,
  type Plain,
  plainJson,
} from './plain-json.ts';
import type { Subject } from './subject.ts';
import { utf8 } from './subject.ts';

const key = fc.oneof(
  fc.constantFrom(...FIELDS.map(({ field }) => field)),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  hostileText,
);

const { item, value } = fc.letrec<{ value: Plain; item: Plain }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(hostileText, numberLiteral),
    numberLiteral.map((number) => ({ number })),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('item'),
  ),
  item: fc.array(fc.tuple(key, tie('value')), { maxLength: 7 }).map((members) => ({ members })),
}));

function space(next: () => number): string {
  return ['', '', '', '', '', '', '', '', '', ' ', '\n', '\t', '\r\n', '  ', ' ', ''][next()]!;
}

function write(json: Plain, next: () => number): string {
  const spaced = (inner: string): string => space(next) + inner + space(next);
  if (typeof json === 'string') return jsonText(json, next);
  if (json === null || typeof json === 'boolean') return String(json);
  if (isNumeral(json)) return json.number;
  if (!isMembers(json)) return `[${json.map((of) => spaced(write(of, next))).join(',') || space(next)}]`;
  const entries = json.members.map(([name, of]) => `${spaced(jsonText(name, next))}:${spaced(write(of, next))}`);
  return `{${entries.join(',') || space(next)}}`;
}

const answers = fc
  .tuple(fc.array(fc.oneof({ weight: 9, arbitrary: item }, value), { maxLength: 4 }), value, fc.boolean(), choices)
  .map(([some, page, hasPage, next]) => {
    const items = [...some, ...some]; // the second time they may take the fast path
    const before = hasPage ? `"page":${write(page, next)},` : '';
    return utf8(`${space(next)}{${before}"items":[${items.map((of) => write(of, next)).join(',')}]}`);
  });

/** Beyond it, every byte as a chunk of its own takes too long. */
const MOST_CUTS = 20_000;

function sameWithAnyCuts(answer: Uint8Array): Outcome {
  const whole = split(answer);
  const isShort = answer.length < MOST_CUTS;
  if (isShort) assert.deepEqual(split(answer, everyByte(answer)), whole);
  assert.deepEqual(split(answer, isShort ? someCuts(answer, answer.length + 1) : fewCuts(answer)), whole);
  return whole;
}

function fewCuts({ length }: Uint8Array): number[] {
  return Array.from({ length: Math.ceil(length / MOST_CUTS) - 1 }, (_, i) => (i + 1) * MOST_CUTS - (i % 7));
}

function prove(answer: Uint8Array): void {
  const { lines, rejects, result, refused } = sameWithAnyCuts(answer);
  const sound = soundAnswer(answer);
  if (result === undefined) {
    if (sound !== undefined)
      assert.ok(codesFor(sound).includes(refused!.code), `sound, and refused as ${refused!.code}`);
    return;
  }
  assert.equal(result.items, result.lines + result.rejects);
  assert.deepEqual([lines.length, rejects.length], [result.lines, result.rejects]);
  const values = lines.map((line) => JSON.parse(line) as Record<string, string | null>);
  for (const of of values.flatMap((line) => Object.values(line))) assert.ok(of === null || typeof of === 'string');
  if (rejects.length === 0) assert.notEqual(sound, undefined, 'what is not JSON came through without a reject');
  if (sound === undefined) return;
  const items = isMembers(sound) ? (member(sound, 'items') as readonly Plain[]) : [];
  assert.equal(items.length, result.items);
  const reasons = new Map(rejects.map(({ item: number, reason }) => [number, reason]));
  const byItem = new Map(values.map((line) => [Number(line._i), line]));
  for (const [number, of] of items.entries()) {
    const faults = faultsOf(of);
    if (faults.length > 0) assert.ok(faults.includes(reasons.get(number)!), `${faults} and not ${reasons.get(number)}`);
    else if (reasons.get(number) !== 'item_too_large') proveLine(answer, byItem.get(number)!, of);
  }
}

function proveLine(answer: Uint8Array, line: Record<string, string | null>, of: Plain): void {
  const { _i, _o, _l, _x, ...known } = line;
  const wanted = expectedLine(of);
  assert.deepEqual(known, wanted.known);
  assert.deepEqual(_x === undefined ? [] : (plainJson(String(_x)) as { members: unknown }).members, wanted.extra);
  const there = answer.subarray(Number(_o), Number(_o) + Number(_l));
  assert.deepEqual(plainJson(new TextDecoder().decode(there)), of);
}

/** The line that an item must give: the rules of the contract, told a second time. */
function expectedLine(of: Plain): { known: Record<string, string | null>; extra: (readonly [string, Plain])[] } {
  const known: Record<string, string | null> = {};
  const extra: (readonly [string, Plain])[] = [];
  for (const [name, value] of (fixedValue(of) as { members: readonly (readonly [string, Plain])[] }).members) {
    const field = FIELDS.find((one) => one.field === name);
    if (field === undefined) {
      extra.push([name, storable(value)]);
      continue;
    }
    const token = isNumeral(value) ? value.number : value === null || typeof value === 'object' ? null : String(value);
    const fits = { text: () => true, number: isJsonNumber, boolean: (t: string) => t === 'true' || t === 'false' };
    const isBooleanForNumber = field.expect === 'number' && typeof value === 'boolean';
    const isBad = value !== null && (token === null || isBooleanForNumber || !fits[field.expect](token));
    known[name] = isBad ? null : token;
    if (isBad) known._b ??= `bad_${field.expect}:${name}`;
  }
  return { known, extra };
}

function isJsonNumber(token: string): boolean {
  return decimalOf(token) !== null;
}

/** A number that no warehouse holds stands as text. */
function storable(value: Plain): Plain {
  if (isNumeral(value)) {
    const power = Math.abs(Number(/e(.+)$/i.exec(value.number)?.[1] ?? 0));
    return value.number.length > 1000 || power > 1000 ? value.number : value;
  }
  if (isMembers(value)) return { members: value.members.map(([name, one]) => [name, storable(one)]) };
  return Array.isArray(value) ? (value as Plain[]).map(storable) : value;
}

function faultsOf(of: Plain): string[] {
  if (!isMembers(of)) return ['not_an_object'];
  return [
    ...(hasTwins(of, fixed) ? ['duplicate_key'] : []),
    ...(depthOf(of) > LIMITS_OF_TESTS.itemDepth ? ['too_deep'] : []),
  ];
}

/** For what an answer that is sound JSON may be refused; `malformed` for a key that comes twice beside `items`, or too deep. */
function codesFor(sound: Plain): string[] {
  if (!isMembers(sound)) return ['not_json', 'not_an_object'];
  const lists = sound.members.filter(([name, of]) => name === 'items' && Array.isArray(of));
  return [lists.length === 0 ? 'no_items' : 'second_items', 'malformed'];
}

/** The answer by the engine's own decoder and parser; undefined where they refuse it. */
function soundAnswer(answer: Uint8Array): Plain | undefined {
  try {
    return plainJson(new TextDecoder('utf-8', { fatal: true }).decode(answer));
  } catch {
    return undefined;
  }
}

const around = (inner: string) => utf8(`{"items":[{"id":"a","x":${inner}},{"id":"b"}]}`);

export const splitter: Subject = {
  name: 'splitter',
  extension: 'txt',
  inputs: alsoDamaged(answers),
  prove,
  shortRuns: 100,
  large: {
    'a text of 10 MB': () => around(`"${'x'.repeat(10 * 1024 * 1024)}"`),
    'a number of 10 MB': () => around('9'.repeat(10 * 1024 * 1024)),
    'a million brackets': () => around('['.repeat(1_000_000)),
    'ten thousand keys': () => around(`{${Array.from({ length: 10_000 }, (_, i) => `"${i}":1`).join(',')}}`),
  },
};
