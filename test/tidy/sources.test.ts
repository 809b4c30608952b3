import { expect, test } from 'vitest';
import { codeOnly, importsOf, withoutComments } from './sources.ts';

/** Placeholders are written `#{…}` here, so that they do not look like forgotten ones. */
const dollars = (text: string) => text.replaceAll('#{', '$' + '{');
const squeeze = (text: string) => text.replace(/\s+/g, ' ').trim();

test.each([
  ['a line comment', 'a // b\nc', 'a c'],
  ['a block comment', 'a /* b\n// */ c', 'a c'],
  ['a string', "f('Date.now()')", "f(' ')"],
  ['a string with an escaped quote', "f('it\\'s') + g", "f(' ') + g"],
  ['a comment sign in a string', "f('//') + g", "f(' ') + g"],
  ['a template', 'f(`text // no comment`) + g', 'f(` `) + g'],
  ['code in a template', 'f(`a #{now({ b: `c #{d}` })} e`) + g', 'f(` #{now({ b: ` #{d}` })} `) + g'],
  ['a dollar sign in a template', 'f(`$5`) + g', 'f(` `) + g'],
  ['a regular expression', 'f(/[\'"`/*]\\//g) + g', 'f(/ g) + g'],
  ['a division', 'a / b / c // d', 'a / b / c'],
  ['a regular expression after return', 'return /"/.test(a)', 'return / /.test(a)'],
])('only code is left of %s', (_, text, left) => {
  expect(squeeze(codeOnly(dollars(text)))).toBe(dollars(left));
});

test('lines stay where they are', () => {
  const text = dollars('/* 1\n2 */ a\n`3\n#{b}\n5` // 6\nc');
  expect(codeOnly(text).split('\n').length).toBe(text.split('\n').length);
  expect(withoutComments(text)).toContain(dollars('`3\n#{b}\n5`'));
});

test('every way to import is seen, and comments are not', () => {
  const text = `import { a } from './a.ts';
import type { B } from '../core/b.ts';
import { type I, type J } from './i.ts';
import {
  c,
  type D,
} from './c.ts';
export { e } from './e.ts';
import 'side';
const f = await import('./f.ts');
// import { g } from './g.ts';
const h = "import { h } from nowhere";`;
  expect(importsOf({ file: 'src/cli/x.ts', text })).toEqual([
    { target: 'src/cli/a.ts', isType: false },
    { target: 'src/core/b.ts', isType: true },
    { target: 'src/cli/i.ts', isType: true },
    { target: 'src/cli/c.ts', isType: false },
    { target: 'src/cli/e.ts', isType: false },
    { target: 'side', isType: false },
    { target: 'src/cli/f.ts', isType: false },
  ]);
});
