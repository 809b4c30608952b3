/** Content-Disposition: whatever stands in it, the name can be recorded; and where the header is as RFC 6266 wants it, it is the one told. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { dispositionName } from '../../../src/partner/calls/file-name.ts';
import { alsoDamaged, hostileText } from './hostile.ts';
import { type Subject, textOf, utf8 } from './subject.ts';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const STRICT = new RegExp(`^${TOKEN}(?:; ${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))*$`, 's');
const PARAMETER = new RegExp(`; (${TOKEN})=(?:(${TOKEN})(?=;|$)|"((?:[^"\\\\]|\\\\.)*)")`, 'gs');

/** The name of a header of the strict form; undefined where it is of another. */
function strictName(header: string): string | null | undefined {
  if (header.length > 10_000 || !STRICT.test(header)) return undefined;
  const found = [...header.matchAll(PARAMETER)].map(([, name = '', token, quoted]) => ({
    name: name.toLowerCase(),
    value: token ?? quoted!.replaceAll(/\\(.)/gs, '$1'),
  }));
  const extended = found.find(({ name }) => name === 'filename*')?.value;
  const plain = found.find(({ name }) => name === 'filename')?.value;
  return recorded(extended === undefined ? undefined : percentDecoded(extended)) ?? recorded(plain);
}

function percentDecoded(value: string): string | undefined {
  const [charset = '', language, ...rest] = value.split("'");
  const text = rest.join("'");
  if (language === undefined || rest.length === 0) return undefined;
  if (/^utf-8$/i.test(charset)) {
    try {
      // A byte order mark is left out by decoders.
      return decodeURIComponent(text).replace(/^\ufeff/, '');
    } catch {
      return undefined;
    }
  }
  const isLatin = /^iso-8859-1$/i.test(charset) && !/%(?![0-9a-f]{2})/i.test(text);
  return isLatin
    ? text.replaceAll(/%(..)/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    : undefined;
}

function recorded(name: string | undefined): string | null {
  const clean = [...(name ?? '').toWellFormed()]
    .filter((one) => !/[\p{Cc}\u2028\u2029]/u.test(one))
    .join('')
    .trim();
  return clean === '' ? null : [...clean].slice(0, 255).join('');
}

function prove(input: Uint8Array): void {
  const header = textOf(input) ?? Buffer.from(input).toString('latin1');
  const name = dispositionName(header);
  if (name !== null) {
    assert.match(name, /^[^\p{Cc}\u2028\u2029]{1,255}$/u);
    assert.ok(name.isWellFormed());
  }
  const strict = strictName(header);
  if (strict !== undefined) assert.equal(name, strict);
}

const escaped = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
const value = fc.oneof(
  hostileText.map(escaped),
  hostileText,
  fc.stringMatching(/^[A-Za-z0-9._'%*-]{1,12}$/),
  hostileText.map((text) => `UTF-8''${encodeURIComponent(text.toWellFormed()).replaceAll("'", '%27')}`),
  fc.stringMatching(/^iso-8859-1'[a-z]{0,2}'(%[0-9a-f]{2}|[a-z]){0,5}$/),
);
const name = fc.constantFrom('filename', 'filename', 'filename*', 'FileName', 'size', 'name', '*');
const header = fc
  .tuple(fc.constantFrom('attachment', 'inline', ''), fc.array(fc.tuple(name, value), { maxLength: 4 }))
  .map(([kind, parameters]) => [kind, ...parameters.map(([n, v]) => `${n}=${v}`)].join('; '));

export const disposition: Subject = {
  name: 'disposition',
  extension: 'txt',
  inputs: alsoDamaged(header.map(utf8)),
  prove,
  shortRuns: 1000,
  large: { 'a name of 10 MB': () => utf8(`attachment; filename="${'x'.repeat(10 * 1024 * 1024)}"`) },
};
