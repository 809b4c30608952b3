/** Values: money, percentages, ratios, counts, truths, texts and days, against whole numbers without limit and a naive calendar. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { hostileText, noNumber, numberLiteral } from './hostile.ts';
import { decimalOf, fixed, isNumeral, type Plain, plainJson, scaled } from './plain-json.ts';
import { type Subject, textOf, utf8 } from './subject.ts';
import { cellsIn, type Typed, typedCells } from './typed.ts';

/** A larger exponent is refused, whatever it would come to. */
const FARTHEST_POWER = 1000;

export type Wanted = string | null | { readonly reject: string };

/** What a value becomes in a column of that kind. */
export const wantedOf: Readonly<Record<string, (value: Plain) => Wanted>> = {
  money: (value) => numberIn(value, (literal) => decimalText(literal)),
  percentage: (value) => numberIn(value, (literal) => decimalText(literal)),
  count: (value) =>
    numberIn(value, (literal) => {
      const { units, isRounded } = scaled(literal, 0)!;
      return isRounded || BigInt.asIntN(64, units) !== units ? null : String(units);
    }),
  ratio: (value) =>
    numberIn(value, (literal) => (Number.isFinite(Number(literal)) ? String(Number(literal)) : null), true),
  boolean: (value) => {
    const text = typeof value === 'boolean' ? String(value) : value;
    return text === null ? null : text === 'true' || text === 'false' ? text : { reject: 'bad_boolean' };
  },
  text: (value) => {
    if (isNumeral(value)) return value.number;
    if (typeof value === 'string') return fixed(value);
    return value === null ? null : typeof value === 'boolean' ? String(value) : { reject: 'bad_text' };
  },
  day: (value) => {
    if (value === null) return null;
    const text = isNumeral(value) ? value.number : typeof value === 'object' ? null : fixed(String(value));
    if (text === null) return { reject: 'bad_text' };
    return isCalendarDay(text.slice(0, 10)) && /^.{10}(?:[T ][0-9](?!.*bc)|$)/is.test(text)
      ? text.slice(0, 10)
      : { reject: 'bad_day' };
  },
};

function numberIn(value: Plain, read: (literal: string) => string | null, isDouble = false): Wanted {
  if (value === null) return null;
  const literal = isNumeral(value) ? value.number : typeof value === 'string' ? fixed(value) : '';
  const power = Math.abs(Number(/[eE](.+)$/.exec(literal)?.[1] ?? 0));
  const isFar = power > FARTHEST_POWER && !isDouble;
  const read1 = decimalOf(literal) === null || isFar ? null : read(literal);
  return read1 ?? { reject: 'bad_number' };
}

function decimalText(literal: string): string | null {
  const { units } = scaled(literal, 6)!;
  const size = units < 0n ? -units : units;
  if (size >= 10n ** 18n) return null;
  const digits = String(size).padStart(7, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

export function isCalendarDay(text: string): boolean {
  const [, year = 0, month = 0, day = 0] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return year >= 1 && day >= 1 && day <= days;
}

async function prove(input: Uint8Array): Promise<void> {
  const cells = cellsIn(textOf(input) ?? '').filter(({ field }) => field in wantedOf);
  if (cells.length === 0) return;
  const typed = await typedCells(cells);
  const rounded: Record<string, number> = {};
  for (const [i, { field, json }] of cells.entries()) {
    const value = plainJson(json)!;
    const wanted = wantedOf[field]!(value);
    assert.deepEqual(told(typed.cells[i]!, field), wanted, `${field} ${json}`);
    const literal = isNumeral(value) ? value.number : typeof value === 'string' ? fixed(value) : '';
    const isMoney = field === 'money' || field === 'percentage';
    if (isMoney && typeof wanted === 'string' && scaled(literal, 6)!.isRounded)
      rounded[field] = (rounded[field] ?? 0) + 1;
  }
  for (const field of ['money', 'percentage'])
    assert.equal(typed.drift.get(`rounded:${field}`) ?? 0, rounded[field] ?? 0, `rounded ${field}`);
}

function told({ row, reason }: Typed, field: string): Wanted {
  if (row === null) return { reject: reason ?? 'neither loaded nor set aside' };
  const text = row[field] ?? null;
  return field === 'ratio' && text !== null ? String(Number(text)) : text;
}

const quoted = (texts: fc.Arbitrary<string>) => texts.map((text) => JSON.stringify(text));
const anything = fc.oneof(
  numberLiteral,
  quoted(numberLiteral),
  quoted(noNumber),
  quoted(hostileText),
  fc.constantFrom('null', 'true', 'false', '"true"', '"TRUE"', '{}', '[1]', '{"a":[1,{"b":null}]}'),
);
const someDay = fc
  .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 32 }))
  .map((parts) => parts.map((part, i) => String(part).padStart(i === 0 ? 4 : 2, '0')).join('-'));
const behindDay = fc.constantFrom('', '', 'T', ' ', 'T23:59:59', ' 00:00:00+01:00', 'x', '1', '\n', '\u00a0');
const days = quoted(fc.tuple(someDay, behindDay).map((parts) => parts.join('')));

const numeric = fc
  .constantFrom('money', 'percentage', 'count', 'ratio')
  .chain((field) =>
    fc
      .oneof({ weight: 6, arbitrary: numberLiteral }, quoted(numberLiteral), anything)
      .map((json) => `${field} ${json}`),
  );
const other = fc.oneof(
  anything.map((json) => `boolean ${json}`),
  anything.map((json) => `text ${json}`),
  fc.oneof(days, anything).map((json) => `day ${json}`),
);

export const values: Subject = {
  name: 'values',
  extension: 'txt',
  inputs: fc
    .array(fc.oneof({ weight: 3, arbitrary: numeric }, other), { minLength: 1, maxLength: 400, size: 'max' })
    .map((lines) => utf8(lines.join('\n'))),
  prove,
  shortRuns: 3,
};
