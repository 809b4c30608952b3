/** The splitter against JSON.parse, on answers that nobody thought of. */
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNumber } from '../../src/extract/split-literal.ts';
import { bytesOf, everyByte, FIELDS, type Outcome, someCuts, split } from './split-outcome.ts';

interface Numeral {
  readonly number: string;
}
interface Entries {
  readonly fields: [string, Json][];
}
type Json = string | boolean | null | Numeral | Json[] | Entries;

const numberLiteral = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?$/);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ maxLength: 40 }),
  numberLiteral,
  fc.constantFrom('true', 'false', 'null', '', ' 1', '"', '\\', '\u0000x', '\ud800', 'a\udc00b', '\u2028'),
);
const key = fc
  .oneof(fc.constantFrom(...FIELDS.map(({ field }) => field)), fc.string({ unit: 'grapheme', maxLength: 6 }))
  .map((name) => name.replaceAll('\0', '.'));

const { item, value } = fc.letrec<{ value: Json; item: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    numberLiteral.map((number) => ({ number })),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('item'),
  ),
  item: fc
    .uniqueArray(fc.tuple(key, tie('value')), { maxLength: 7, selector: ([name]) => name })
    .map((fields) => ({ fields })),
}));

/** An endless supply of choices that shrinks with the example. */
const choices = fc.infiniteStream(fc.nat(15));

function space(next: () => number): string {
  return ['', '', '', '', '', '', '', '', '', ' ', '\n', '\t', '\r\n', '  ', ' ', ''][next()]!;
}

function quote(of: string, next: () => number): string {
  const letters = Array.from({ length: of.length }, (_, i) => {
    const unit = of.charCodeAt(i);
    const hex = `\\u${unit.toString(16).padStart(4, '0')}`;
    const plain = JSON.stringify(of[i]).slice(1, -1);
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate) return hex;
    if (next() === 0) return next() < 8 ? hex : hex.toUpperCase().replace('U', 'u');
    return of[i] === '/' && next() < 8 ? '\\/' : plain;
  });
  // A pair may also come as UTF-8.
  return `"${letters.join('').replace(/\\ud[89ab]..\\ud[c-f]../g, (pair) => (next() < 8 ? JSON.parse(`"${pair}"`) : pair))}"`;
}

function write(json: Json, next: () => number): string {
  const spaced = (inner: string): string => space(next) + inner + space(next);
  if (typeof json === 'string') return quote(json, next);
  if (json === null || typeof json === 'boolean') return String(json);
  if (Array.isArray(json)) return `[${json.map((of) => spaced(write(of, next))).join(',') || space(next)}]`;
  if ('number' in json) return json.number;
  const entries = json.fields.map(([name, of]) => `${spaced(quote(name, next))}:${spaced(write(of, next))}`);
  return `{${entries.join(',') || space(next)}}`;
}

/** JSON.parse with every number as `{ number: literal }`, so that no digit is lost. */
function exactly(json: string): unknown {
  const quoted = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*/gs, (token) =>
    token.startsWith('"') ? token : `{"number":"${token}"}`,
  );
  return JSON.parse(quoted);
}

/** What the splitter mends in texts. */
function mended(json: unknown): unknown {
  if (typeof json === 'string') return Buffer.from(json).toString().replaceAll('\0', '');
  if (Array.isArray(json)) return json.map(mended);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([name, of]) => [mended(name), mended(of)]));
}

/** The line that an item must give, as values: the rules of the contract, told a second time. */
function expectedLine(parsed: Record<string, unknown>): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [name, of] of Object.entries(parsed)) {
    const known = FIELDS.find(({ field }) => field === name);
    if (known === undefined) {
      extra[name] = of;
      continue;
    }
    const literal = typeof of === 'object' && of !== null && 'number' in of ? String(of.number) : null;
    const token = literal ?? (of === null || typeof of === 'object' ? null : String(of));
    const fits = { text: () => true, number: isJsonNumber, boolean: (t: string) => t === 'true' || t === 'false' };
    const isBooleanForNumber = known.expect === 'number' && typeof of === 'boolean';
    const isBad = of !== null && (token === null || isBooleanForNumber || !fits[known.expect](token));
    line[name] = isBad ? null : token;
    if (isBad) line._b ??= `bad_${known.expect}:${name}`;
  }
  if (Object.keys(extra).length > 0) line._x = extra;
  return line;
}

function isJsonNumber(token: string): boolean {
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(token);
}

function sameWithAnyCuts(answer: Uint8Array, seed: number): Outcome {
  const whole = split(answer);
  expect(split(answer, everyByte(answer))).toEqual(whole);
  expect(split(answer, someCuts(answer, seed))).toEqual(whole);
  return whole;
}

describe('the splitter', () => {
  it('gives the values that JSON.parse gives, numbers with every digit', () => {
    const answers = fc.tuple(fc.array(item, { maxLength: 4 }), choices, fc.nat());
    fc.assert(
      fc.property(answers, ([some, stream, seed]) => {
        const items = [...some, ...some]; // the second time they may take the fast path
        const next = () => stream.next().value as number;
        const json = `${space(next)}{${space(next)}"items":[${items.map((of) => write(of, next)).join(',')}]}`;
        const { lines, rejects, result } = sameWithAnyCuts(bytesOf(json), seed);
        expect(rejects).toEqual([]);
        expect(result).toMatchObject({ items: items.length, lines: items.length, rejects: 0 });
        const parsed = mended(exactly(json)) as { items: Record<string, unknown>[] };
        lines.forEach((line, i) => {
          const { _i, _o, _l, ...rest } = JSON.parse(line) as Record<string, string>;
          const { _x, ...known } = rest;
          expect(_x === undefined ? known : { ...known, _x: exactly(_x) }).toEqual(expectedLine(parsed.items[i]!));
          const there = bytesOf(json)
            .subarray(Number(_o), Number(_o) + Number(_l))
            .toString();
          expect([_i, mended(exactly(there))]).toEqual([String(i), parsed.items[i]]);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('takes for a number what JSON.parse takes for one', () => {
    const tokens = fc.oneof(fc.string({ unit: fc.constantFrom(...'0123456789+-.eE'), maxLength: 8 }), numberLiteral);
    fc.assert(
      fc.property(tokens, (token) => {
        const bytes = Buffer.from(token);
        expect(isNumber(bytes, 0, bytes.length)).toBe(isJsonNumber(token));
      }),
      { numRuns: 2000 },
    );
  });

  it('lets nothing unsound out of a damaged answer, and refuses no sound one', () => {
    const damages = fc.array(
      fc.record({
        at: fc.nat(),
        byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\u0d8'))),
        how: fc.nat(2),
      }),
      { minLength: 1, maxLength: 2 },
    );
    const cases = fc.tuple(fc.array(item, { minLength: 1, maxLength: 3 }), value, damages, choices, fc.nat());
    fc.assert(
      fc.property(cases, ([some, member, strokes, stream, seed]) => {
        const items = [...some, ...some];
        const next = () => stream.next().value as number;
        const json = `{"page":${write(member, next)},"items":[${items.map((of) => write(of, next)).join(',')}],"z":1}`;
        const answer = strokes.reduce(damaged, bytesOf(json));
        const { lines, rejects, result, refused } = sameWithAnyCuts(answer, seed);
        const sound = soundAnswer(answer);
        if (result === undefined) {
          expect(refused!.kind).toBe(refused!.code === 'cut' ? 'retry' : 'failed');
          if (sound !== null) expect(codesFor(sound)).toContain(refused!.code);
          return;
        }
        expect(result.items).toBe(result.lines + result.rejects);
        expect([lines.length, rejects.length]).toEqual([result.lines, result.rejects]);
        for (const line of lines)
          for (const of of Object.values(JSON.parse(line) as object))
            expect(of === null || typeof of === 'string').toBe(true);
        if (rejects.length === 0) expect(sound).not.toBeNull();
        if (sound !== null)
          for (const { reason } of rejects) expect(['not_an_object', 'duplicate_key', 'too_deep']).toContain(reason);
      }),
      { numRuns: 400 },
    );
  });
});

function damaged(answer: Uint8Array, stroke: { at: number; byte: number; how: number }): Uint8Array {
  const at = stroke.at % answer.length;
  const behind = answer.subarray(stroke.how === 0 ? at : at + 1);
  return Buffer.concat([answer.subarray(0, at), stroke.how === 2 ? Buffer.alloc(0) : Buffer.of(stroke.byte), behind]);
}

/** For what an answer that is sound JSON may be refused; `malformed` for a key that comes twice beside `items`. */
function codesFor(sound: object): string[] {
  if (Array.isArray(sound)) return ['not_an_object'];
  return 'items' in sound && Array.isArray(sound.items) ? ['second_items', 'malformed'] : ['no_items', 'malformed'];
}

/** The answer by the engine's own decoder and parser, or null where they refuse it. */
function soundAnswer(answer: Uint8Array): object | null {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer));
  } catch {
    return null;
  }
}
