import { describe, expect, test } from 'vitest';
import { secretsIn } from '../../src/config/environment.ts';
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

  test.each([
    'Bearer authentication required',
    'a basic mistake',
    'a basic misunderstanding.',
    'Bearer authentication-required',
    'abc',
    '',
  ])('and leaves %j as it is', (text) => {
    expect(redact(text, ['', 'abc', TOKEN])).toBe(text);
  });
});

describe('redact takes secrets out, and not words', () => {
  const LOCAL = 'postgresql://postgres:postgres@localhost:5432/postgres';
  const HOOK = 'https://hooks.example.com/services/T0P53CR3T';
  const secretsOf = (env: Record<string, string>) => secretsIn(env);
  const postgres = (url: string) => ({ PARTNER_ETL_POSTGRES_URL: url });

  test.each([
    ['the target, where the address begins with its name', postgres('postgres://etl:qx7@h/db'), 'loaded into postgres'],
    ['the scheme of the address', postgres('postgresql://etl:qx7@h/db'), 'PARTNER_ETL_POSTGRES_URL is no postgresql:'],
    ['the target, where the user is named like it', postgres('postgres://postgres@h/db'), 'cannot reach postgres'],
    ['the target, where the password is that word', postgres(LOCAL), 'postgres: 3 slices'],
    ['a DuckLake', { PARTNER_ETL_DUCKLAKE_URL: 'ducklake:postgres://etl:qx7@h/db' }, 'loaded into ducklake'],
    [
      'the host of its catalog',
      { PARTNER_ETL_DUCKLAKE_URL: 'ducklake:postgres://h.example/db' },
      'no answer of ducklake:postgres://h.example',
    ],
    ['what a URL of somebody else begins with', { PARTNER_ETL_ALERT_URL: HOOK }, 'it must begin with https://'],
    ['the host of an address', { PARTNER_ETL_ALERT_URL: HOOK }, 'no answer of https://hooks.example.com'],
    ['a word that a short password is a part of', postgres('postgres://etl:main@h/db'), 'the domain remains'],
    ['a pipeline that a password is named like', postgres('postgres://etl:orders@h/db'), 'orders and promotions'],
    ['the beginning of a secret of words', { PARTNER_CLIENT_SECRET: 'partner-etl-9f8ae1' }, 'npx partner-etl'],
  ])('%s stays', (_name, env, text) => {
    expect(redact(text, secretsOf(env))).toBe(text);
  });

  test.each([
    ['an address', LOCAL, `no route to ${LOCAL}`, 'no route to [redacted]'],
    [
      'an address that was cut in its password',
      'postgres://postgres:qX7kk@h',
      'at postgres://postgres:qX',
      'at [redacted]',
    ],
    [
      'the same, as a URL writes it',
      'postgres://postgres:qX7kk@h',
      'at postgres%3A%2F%2Fpostgres%3Aq',
      'at [redacted]',
    ],
    ['a word as a password in another address', LOCAL, 'postgres://me:postgres@h/db', 'postgres://me:[redacted]@h/db'],
    [
      'a word as a password after its name',
      LOCAL,
      'Password: "postgres" of postgres',
      'Password: "[redacted]" of postgres',
    ],
    ['a short password on its own', 'postgres://etl:qx7k@h/db', 'user etl, qx7k: no', 'user etl, [redacted]: no'],
    ['a short password behind a line break in JSON', 'postgres://etl:qx7k@h', '"a\\nqx7k"', '"a\\n[redacted]"'],
  ])('%s goes', (_name, url, text, clean) => {
    expect(redact(text, secretsOf(postgres(url)))).toBe(clean);
  });

  test('an address that was cut in its path goes, if it is the path that is secret', () => {
    expect(redact('at https://hooks.example.com/serv', secretsOf({ PARTNER_ETL_ALERT_URL: HOOK }))).toBe(
      'at [redacted]',
    );
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
