import { expect, test } from 'vitest';
import { fold } from '../../../src/cli/print/fold.ts';

test.each<[string, number, string, string]>([
  ['one two three', 80, '', 'one two three'],
  ['one two three', 8, '', 'one two\nthree'],
  ['one two three', 8, '- ', '- one\n  two\n  three'],
  ['one extraordinarily long', 6, '', 'one\nextraordinarily\nlong'],
  ['one two', Number.POSITIVE_INFINITY, '1. ', '1. one two'],
])('%j in %i columns behind %j', (text, width, first, folded) => {
  expect(fold(text, width, first)).toBe(folded);
});
