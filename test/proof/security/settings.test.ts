/** Settings as somebody would write them who wants to harm the program; each attempt ends in a refusal that says where. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { load, place, refusal } from '../../config/place.ts';

const NESTED = 100_000;

/** Each of nine lists holds the one before nine times: 9^9 words if somebody wrote them out. */
const LAUGHS = Array.from({ length: 9 }, (_, i) => {
  const item = i === 0 ? '"lol"' : `*l${i - 1}`;
  return `l${i}: &l${i} [${Array(9).fill(item).join(', ')}]`;
}).join('\n');

describe('a settings file that attacks is refused, and says which line', () => {
  test.each<[string, string, RegExp]>([
    ['a billion laughs', LAUGHS, /local\.yaml:2.*alias/],
    ['an alias to itself', 'service: &a\n  retry: *a\n', /local\.yaml:2.*alias/],
    ['lists that are nested deeply', `a: ${'['.repeat(NESTED)}`, /local\.yaml/],
    ['sections that are nested deeply', `${'{a: '.repeat(NESTED)}`, /local\.yaml/],
    ['__proto__', '__proto__:\n  polluted: true\n', /local\.yaml:1.*__proto__: unknown key/],
    ['__proto__ further down', 'service:\n  retry:\n    __proto__: {tries: 1}\n', /local\.yaml:3.*__proto__/],
    ['constructor', 'constructor:\n  prototype: {polluted: true}\n', /local\.yaml:1.*constructor: unknown key/],
    ['a merge key', 'service:\n  <<: {retry: {tries: 9}}\n', /local\.yaml:2.*<</],
    ['a tag that makes code', 'service: !!js/function "function () {}"\n', /local\.yaml:1/],
    ['bytes as a tag', 'service: !!binary aGVsbG8=\n', /local\.yaml:1/],
    ['two documents', 'service: {}\n---\nservice: {}\n', /local\.yaml:2.*second document/],
    ['more text than settings ever are', `# ${'x'.repeat(300_000)}\n`, /local\.yaml.*larger than/],
  ])('%s', async (_, text, told) => {
    const error = await refusal(text);
    expect(error).toMatchObject({ kind: 'usage', message: expect.stringMatching(told) });
    expect(error.message.length).toBeLessThan(3_000);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('a file that is none: a folder, or a device that never ends', async () => {
    const root = await place();
    for (const file of [root, '/dev/zero'])
      expect(await refusal(undefined, { PARTNER_ETL_CONFIG: file })).toMatchObject({
        kind: 'usage',
        code: 'no_settings_file',
        hint: expect.any(String),
      });
  });
});

describe('a setting cannot lead out of what it is for', () => {
  test.each<[string, string]>([
    ['a path of a call with another host', 'service:\n  baseUrl: "https://partner.example@evil.example"\n'],
    ['an address that is no http', 'service:\n  baseUrl: "file:///etc/passwd"\n'],
    ['an address with a line break', 'service:\n  baseUrl: "https://a.example/\\r\\nX: y"\n'],
    ['a place to listen that is none', 'serve:\n  host: "0.0.0.0; rm -rf /"\n'],
  ])('%s', async (_, text) => {
    expect(await refusal(text)).toMatchObject({ kind: 'usage' });
  });

  test('the home directory is the one that is named, and nothing in the settings moves a part of it', async () => {
    const { home } = await load('', { PARTNER_ETL_HOME: '/srv/../srv/etl/' });
    for (const [name, where] of Object.entries(home))
      expect([name, path.relative('/srv/etl', where)]).toEqual([name, expect.not.stringMatching(/^\.\./)]);
    expect(await refusal('home:\n  state: /etc\n')).toMatchObject({ kind: 'usage' });
  });

  test('a secret that somebody wrote into the file is not repeated', async () => {
    const root = await place();
    await writeFile(path.join(root, 'config', 'local.yaml'), 'clientSecret: hunter2-hunter2\n');
    const error = await refusal('clientSecret: hunter2-hunter2\n');
    expect(`${error.message} ${error.hint}`).not.toContain('hunter2');
  });
});
