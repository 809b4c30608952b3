/**
 * The name of a file in a Content-Disposition header (RFC 6266). It is a text to be recorded and compared, and nothing else:
 * it may be `../../etc/x`, and is never used as a path.
 */

/** As long as file systems allow names to be, and longer than the service's have ever been. */
const LONGEST_NAME = 255;
/** What is looked at of a header; whatever comes after it can be no name that we keep whole. */
const LONGEST_HEADER = 16_384;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

/**
 * The name, without control characters, at most 255 characters; null where there is none. `filename*` wins over `filename`
 * unless it cannot be read. Of two parameters of one name the first counts. Never throws, whatever the header.
 */
export function dispositionName(header: string | null): string | null {
  const parameters = parametersIn((header ?? '').slice(0, LONGEST_HEADER));
  const extended = parameters.get('filename*');
  return (
    recordable(extended === undefined ? null : decoded(extended)) ?? recordable(parameters.get('filename') ?? null)
  );
}

/** `name=value` parts between semicolons; a semicolon inside quotes does not part them. */
function parametersIn(header: string): Map<string, string> {
  const found = new Map<string, string>();
  const part = /[^;="]*(?:=\s*(?:"((?:[^"\\]|\\.)*)(?:"[^;]*|$)|([^;]*)))?/sy;
  for (let at = 0; at < header.length; at = part.lastIndex + 1) {
    part.lastIndex = at;
    const match = part.exec(header);
    if (match === null) break;
    const name = match[0].slice(0, match[0].indexOf('=')).trim().toLowerCase();
    const value = match[1]?.replaceAll(/\\(.)/gs, '$1') ?? match[2]?.trim();
    if (value !== undefined && !found.has(name)) found.set(name, value);
  }
  return found;
}

/** The value of an extended parameter, `charset'language'percent-encoded` (RFC 8187), or null where it is no such thing. */
function decoded(value: string): string | null {
  const match = /^(utf-8|iso-8859-1)'[^']*'((?:[^%]|%[0-9a-f]{2})*)$/i.exec(value);
  if (match === null) return null;
  const bytes = Buffer.from(
    match[2]!.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  if (match[1]!.toLowerCase() === 'iso-8859-1') return bytes.toString('latin1');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A name as it may be recorded, or null where nothing of it is left. */
export function recordable(name: string | null): string | null {
  const clean = (name ?? '').toWellFormed().replaceAll(CONTROL, '').trim();
  return clean === '' ? null : [...clean].slice(0, LONGEST_NAME).join('');
}
