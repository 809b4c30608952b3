import { expect, test } from 'vitest';
import { escaped, html } from '../../src/core/markup.ts';

test.each([
  ['tags and quotes', `<b title='a'>"&"</b>`, '&lt;b title=&#39;a&#39;&gt;&quot;&amp;&quot;&lt;/b&gt;'],
  ['control characters', 'a\u0000b\u001b[31mc', 'a\ufffdb\ufffd[31mc'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
  [
    'what turns the direction',
    'paid \u202e00.1\u202c \u2066x\u2069\u200f',
    'paid [U+202E]00.1[U+202C] [U+2066]x[U+2069][U+200F]',
  ],
  ['letters of a script that runs from right to left, and what joins them', 'שלום می\u200cخواهم', 'שלום می\u200cخواهم'],
])('%s', (_, text, shown) => {
  expect(escaped(text)).toBe(shown);
  expect(html`<p>${text}</p>`.text).toBe(`<p>${shown}</p>`);
});
