import { describe, expect, test } from 'vitest';
import { foreignText, redact } from '../../src/core/redact.ts';

const SECRET = 'p4ss/Wörd+9="x';
const TOKEN = 'abcdefghijklmnopqrstuvwxyz';

describe('redact takes a secret out', () => {
  test.each([
    ['as it is', `client ${SECRET}!`, 'client [redacted]!'],
    ['every time', `${SECRET},${SECRET}`, '[redacted],[redacted]'],
    ['in a URL', `?s=${encodeURIComponent(SECRET)}&a=1`, '?s=[redacted]&a=1'],
    ['in JSON', JSON.stringify({ s: SECRET }), '{"s":"[redacted]"}'],
    ['in base64', Buffer.from(SECRET).toString('base64'), '[redacted]'],
    ['cut off at the end', `token ${TOKEN.slice(0, 11)}`, 'token [redacted]'],
    ['after Bearer, whoever’s it is', 'Authorization: Bearer AbCdEfGhIjKlMnOpQr', 'Authorization: Bearer [redacted]'],
    ['after Basic', 'basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'basic [redacted]'],
    ['that looks like a JWT', 'got eyJhbGciOiJS.eyJpc3MiOiJs.c2ln here', 'got [redacted] here'],
    ['that contains another one', 'the long-secret-longer one', 'the [redacted] one'],
  ])('%s', (_name, text, clean) => {
    expect(redact(text, ['long-secret', SECRET, TOKEN, 'long-secret-longer'])).toBe(clean);
  });

  test.each(['Bearer authentication required', 'a basic mistake', 'abc', ''])('and leaves %j as it is', (text) => {
    expect(redact(text, ['', 'abc', TOKEN])).toBe(text);
  });
});

describe('foreignText', () => {
  test.each([
    ['control characters', 'a\u0000b\u001b[2Jc\u009b', 'ab[2Jc'],
    ['lines', ' a\r\n\tb\u2028c\u0085d ', 'a b c d'],
    ['what turns text round or hides it', 'a\u202eb\u2066c\u200bd\ufeff', 'abcd'],
    ['half characters', 'a\ud800b', 'a\ufffdb'],
    ['a secret between control characters', 'abcdefghijk\u0000lmnop\u200bqrstuvwxyz', '[redacted]'],
  ])('is made fit: %s', (_name, text, clean) => {
    expect(foreignText(text, [TOKEN], 100)).toBe(clean);
  });

  test('is cut after the secrets are out, so that no half of one is left', () => {
    expect(foreignText(`12345 ${TOKEN} and more`, [TOKEN], 12)).toBe('12345 [redac…');
  });

  test('is cut without leaving half a character', () => {
    expect(foreignText('ab😀cd', [], 3)).toBe('ab\ufffd…');
  });

  test('takes little time for text that was made to take much', () => {
    const hostile = ['<'.repeat(16_384), 'eyJ'.repeat(5_000), 'bearer '.repeat(2_000), TOKEN.slice(0, 20).repeat(800)];
    for (const text of hostile) expect(foreignText(text, [TOKEN], 300).length).toBeLessThanOrEqual(310);
  });
});
