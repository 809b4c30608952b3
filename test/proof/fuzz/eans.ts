/** EANs: thirteen digits of which the last makes the weighted sum a multiple of ten; and the words for what is none. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { eanProblem, isEan } from '../../../src/core/ean.ts';
import { hostileText } from './hostile.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

/** By the definition, over all thirteen: weights 1 and 3 in turn. */
function addsUp(text: string): boolean {
  if (!/^[0-9]{13}$/.test(text)) return false;
  const sum = [...text].reduce((all, digit, i) => all + BigInt(digit) * (i % 2 === 0 ? 1n : 3n), 0n);
  return sum % 10n === 0n;
}

function prove(input: Uint8Array): void {
  const text = textOf(input);
  if (text === null) return;
  assert.equal(isEan(text), addsUp(text), JSON.stringify(text));
  assert.equal(eanProblem(text) === null, addsUp(text));
  // The words name the digit that would be right.
  const [, right] = /which should be (\d)$/.exec(eanProblem(text) ?? '') ?? [];
  if (right !== undefined) assert.ok(addsUp(text.slice(0, 12) + right));
}

export const eans: Subject = {
  name: 'eans',
  extension: 'txt',
  inputs: fc
    .oneof(
      fc.stringMatching(/^[0-9]{13}$/),
      fc.stringMatching(/^0{6,13}[0-9]{0,7}$/),
      fc.stringMatching(/^[0-9]{1,14}[\n x٣]?$/),
      hostileText,
    )
    .map(utf8),
  prove,
  shortRuns: 2000,
};
