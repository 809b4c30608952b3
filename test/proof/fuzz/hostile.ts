/** Texts, numbers and damage as somebody would choose them who wants a program to fail. */
import { Buffer } from 'node:buffer';
import fc from 'fast-check';

/** Texts that mean something to somebody on the way: to SQL, COPY, CSV, a spreadsheet, a terminal, a path. */
const WORDS = [
  ...['', ' ', 'null', 'true', 'NaN', 'Infinity', '\\N', '\\.', '0', '-', '__proto__', 'constructor'],
  ...['=cmd()', "=cmd|' /C calc'!A0", '+1+1', '-1+1', '@SUM(1)', '\t=1', '\r=1', "'=1", "''=1"],
  ...[
    "'",
    '"',
    '""',
    ',',
    ';',
    '|',
    '{}',
    '[]',
    '--',
    "'); DROP TABLE etl.receipt; --",
    '$$',
    '%s%n',
    '../../etc/passwd',
  ],
  ...[
    '\0',
    'a\0b',
    '\ud800',
    'a\udc00b',
    '\udbff',
    '\ufffd',
    '\ufeff',
    '\u001e',
    '\u001e1',
    'a\u001fb',
    '\u001f',
    '\u0085',
    '\u2028',
  ],
  ...[
    '\u202eexe.fdp',
    'שלום',
    'مرحبا',
    '\u200f',
    'e\u0301',
    'é',
    '😀',
    '\u{10ffff}',
    '\n',
    '\r\n',
    'a\nb',
    '\u001b[2J',
  ],
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.array(fc.constantFrom(...WORDS), { minLength: 2, maxLength: 4 }).map((words) => words.join('')),
);

/** Number literals of JSON. */
export const numberLiteral: fc.Arbitrary<string> = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?$/),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,7})?$/),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,3})(\.[0-9]{0,40}[1-9])?([eE][-+]?[0-9]{1,2})?$/),
  fc.double().map((double) => (Number.isFinite(double) ? String(double) : '0.30000000000000004')),
  fc.constantFrom(
    ...[
      '1e400',
      '-1e400',
      '1e-400',
      '-0',
      '-0.0',
      '0e999',
      '9007199254740993',
      '9223372036854775807',
      '9223372036854775808',
    ],
    ...['-9223372036854775808', '0.30000000000000004', '1e-7', '5.684341886080802E-14', '999999999999.9999995'],
    ...['1234567890123456789012345678901234567890', '0.1234567890123456789012345678901234567890', '1e2', '3.0', '1.5'],
  ),
);

/** What is put where a number is expected and is none. */
export const noNumber: fc.Arbitrary<string> = fc.constantFrom(
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    '+1',
    '01',
    '.5',
    '5.',
    '1_000',
    '0x10',
    '1e',
    '1,5',
    '١٢',
    ' 1',
    '1 ',
    '--1',
    '1e1e1',
  ],
);

export interface Stroke {
  readonly at: number;
  readonly byte: number;
  /** 0: the byte is put in, 1: it takes the place of another, 2: one is taken out, 3: everything behind is cut off. */
  readonly how: number;
}

const strokes = fc.array(
  fc.record({
    at: fc.nat(),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:;=\\u0d8\r\n\t '))),
    how: fc.nat(3),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The same inputs, and with as many again that are damaged. */
export function alsoDamaged(sound: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    sound,
    fc.tuple(sound, strokes).map(([input, some]) => some.reduce(damaged, input)),
  );
}

function damaged(input: Uint8Array, { at, byte, how }: Stroke): Uint8Array {
  if (input.length === 0) return input;
  const place = at % input.length;
  const behind = how === 3 ? new Uint8Array() : input.subarray(how === 0 ? place : place + 1);
  return Buffer.concat([input.subarray(0, place), how < 2 ? Buffer.of(byte) : new Uint8Array(), behind]);
}

/** JSON text with escapes of all kinds; the same choices give the same text. */
export function jsonText(of: string, next: () => number): string {
  const letters = Array.from({ length: of.length }, (_, i) => {
    const unit = of.charCodeAt(i);
    const hex = `\\u${unit.toString(16).padStart(4, '0')}`;
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate) return hex;
    if (next() === 0) return next() < 8 ? hex : hex.toUpperCase().replace('U', 'u');
    return of[i] === '/' && next() < 8 ? '\\/' : JSON.stringify(of[i]).slice(1, -1);
  });
  // A pair may also come as UTF-8.
  return `"${letters.join('').replace(/\\ud[89ab]..\\ud[c-f]../g, (pair) => (next() < 8 ? JSON.parse(`"${pair}"`) : pair))}"`;
}

/** An endless supply of choices from 0 to 15 that shrinks with the example. */
export const choices: fc.Arbitrary<() => number> = fc
  .infiniteStream(fc.nat(15))
  .map((stream) => () => stream.next().value as number);
