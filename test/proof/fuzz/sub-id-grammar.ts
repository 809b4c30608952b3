/** The grammar of sub-IDs, read once more letter by letter. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { SUB_ID_PARTS_MOST, subIdParts } from '../../../src/core/sub-id-grammar.ts';
import { alsoDamaged, hostileText } from './hostile.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

interface Read {
  readonly names: readonly string[];
  /** One more than there are names. */
  readonly literals: readonly string[];
}

function readLetters(grammar: string): Read | null {
  const names: string[] = [];
  const literals = [''];
  let name: string | null = null;
  for (const letter of grammar) {
    if (letter === '{') {
      if (name !== null) return null;
      name = '';
    } else if (letter === '}') {
      if (name === null || name === '') return null;
      names.push(name);
      literals.push('');
      name = null;
    } else if (name !== null) {
      if (!'abcdefghijklmnopqrstuvwxyz_'.includes(letter)) return null;
      name += letter;
    } else {
      if (/[\p{Cc}\p{Cs}]/u.test(letter)) return null;
      literals[literals.length - 1] += letter;
    }
  }
  const isSound = name === null && names.length > 0 && names.length <= SUB_ID_PARTS_MOST;
  const isOnce = names.every((one, i) => names.indexOf(one) === i);
  return isSound && isOnce && literals.slice(1, -1).every((one) => one !== '') ? { names, literals } : null;
}

function prove(input: Uint8Array): void {
  const grammar = textOf(input);
  if (grammar === null) return;
  const parts = subIdParts(grammar);
  const read = readLetters(grammar);
  const wanted = read?.names.map((name, i) => ({
    position: i + 1,
    name,
    before: read.literals[i]!,
    after: read.literals[i + 1]!,
    is_last: i === read.names.length - 1,
  }));
  assert.deepEqual(parts, wanted ?? null, JSON.stringify(grammar));
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('{site}', '{placement}', '{a}', '{_}', '{site_name}') },
  { weight: 4, arbitrary: fc.constantFrom('|', '-', '::', '%', '_', '.', "'", '(', '\\') },
  fc.constantFrom('{', '}', '{}', '{A}', '{a1}', '{ a}', '{{a}}'),
  hostileText,
);

export const subIdGrammar: Subject = {
  name: 'sub-id-grammar',
  extension: 'txt',
  inputs: alsoDamaged(fc.array(piece, { maxLength: 24 }).map((pieces) => utf8(pieces.join('')))),
  prove,
  shortRuns: 2000,
};
