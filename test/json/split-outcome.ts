/** Runs the splitter over an answer cut at given places and gathers everything that comes out. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import {
  RefusedAnswer,
  type SplitField,
  type SplitLimits,
  type SplitReject,
  type SplitResult,
} from '../../src/json/interface.ts';
import { Splitter } from '../../src/json/splitter.ts';

export const FIELDS: readonly SplitField[] = [
  { field: 'id', expect: 'text' },
  { field: 'price', expect: 'number' },
  { field: 'final', expect: 'boolean' },
  { field: 'naïve "q"', expect: 'text' },
];

export const LIMITS_OF_TESTS: SplitLimits = { itemBytes: 4096, itemDepth: 8, answerBytes: 1 << 26 };

export interface Outcome {
  readonly lines: readonly string[];
  readonly rejects: readonly SplitReject[];
  /** Absent when the answer was refused. */
  readonly result?: SplitResult;
  readonly refused?: { readonly code: string; readonly message: string };
}

/** Pieces of a text, joined to bytes; numbers are single bytes. */
export function bytesOf(...parts: readonly (string | number)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))));
}

export function split(
  answer: Uint8Array,
  cuts: readonly number[] = [],
  fields: readonly SplitField[] = FIELDS,
  limits: SplitLimits = LIMITS_OF_TESTS,
): Outcome {
  const pieces: Buffer[] = [];
  const rejects: SplitReject[] = [];
  const splitter = new Splitter({
    fields,
    limits,
    onLines: (lines) => {
      pieces.push(Buffer.from(lines));
    },
    onReject: (reject) => {
      rejects.push(reject);
    },
  });
  try {
    let from = 0;
    for (const to of [...cuts, answer.length]) {
      splitter.write(apart(answer.subarray(from, to)));
      from = to;
    }
    const result = splitter.end();
    const text = Buffer.concat(pieces).toString('utf8');
    return { lines: text.split('\n').slice(0, -1), rejects, result };
  } catch (error) {
    if (!(error instanceof RefusedAnswer)) throw error;
    return { lines: [], rejects, refused: { code: error.code, message: error.message } };
  }
}

/** A copy at an odd place among quotes, so that a look past its ends would tell. */
function apart(chunk: Uint8Array): Uint8Array {
  const among = new Uint8Array(chunk.length + 9).fill(0x22);
  among.set(chunk, 5);
  return among.subarray(5, 5 + chunk.length);
}

export function everyByte(answer: Uint8Array): number[] {
  return Array.from({ length: Math.max(0, answer.length - 1) }, (_, i) => i + 1);
}

/** Places to cut, the same for the same seed. */
export function someCuts(answer: Uint8Array, seed: number): number[] {
  const cuts: number[] = [];
  let state = seed;
  for (let at = 0; at < answer.length; ) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    at += 1 + ((state >>> 8) % 23);
    if (at < answer.length) cuts.push(at);
  }
  return cuts;
}

/** The outcome, once it was seen to be the same whole, byte by byte and with other cuts. */
export function outcomeOf(answer: Uint8Array): Outcome {
  const whole = split(answer);
  assert.deepEqual(split(answer, everyByte(answer)), whole);
  for (let seed = 1; seed <= 5; seed++) assert.deepEqual(split(answer, someCuts(answer, seed)), whole);
  return whole;
}

export type Parts = (string | number)[];

/** Rows of a reason and the parts of a text, with a short name for the title of a test. */
export function withNames(
  rows: readonly (readonly [string, Parts])[],
): { readonly reason: string; readonly parts: Parts; readonly name: string }[] {
  return rows.map(([reason, parts]) => {
    const text = JSON.stringify(parts);
    return { reason, parts, name: text.length > 80 ? `${text.slice(0, 80)}…` : text };
  });
}
