/**
 * The header that a message is signed with: `Signature: keyId=0, algorithm="rsa-sha256", signature=<BASE64>`, its values quoted or
 * not, in any order. Base64 ends in "=", so a parameter is split at its first one. Parameters of other names are left alone.
 */

export interface SignatureHeader {
  readonly keyId: string;
  /** Base64 in its one right spelling. */
  readonly signature: string;
}

/** Why a header is none: `other_algorithm` is one that could be read, and says something else than rsa-sha256. */
export type HeaderFault = 'no_signature' | 'bad_signature' | 'other_algorithm';

const NAME = 'signature';
const ALGORITHM = 'rsa-sha256';
/** The longest key that anybody uses, RSA with 16,384 bits, signs in 2,732 characters. */
const MOST_CHARACTERS = 4096;
const MOST_KEY_ID_CHARACTERS = 128;
/** What others might mean by a further header or parameter is not guessed: the sender writes each once. */
const MOST_PARAMETERS = 16;
/** Visible ASCII, without what ends a value. */
const PLAIN_VALUE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;
const QUOTED_VALUE = /^"[\x20\x21\x23-\x5b\x5d-\x7e]+"$/;
const PARAMETER_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The only header of that name. `rawHeaders`: names and values in turn, as Node has them, in which doubled ones still stand apart. */
export function signatureHeader(rawHeaders: readonly string[]): SignatureHeader | HeaderFault {
  let text: string | null = null;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    if (text !== null) return 'bad_signature';
    text = rawHeaders[i + 1]!;
  }
  return text === null || text === '' ? 'no_signature' : parseSignature(text);
}

export function parseSignature(text: string): SignatureHeader | HeaderFault {
  if (text.length > MOST_CHARACTERS) return 'bad_signature';
  const parameters = parametersOf(text);
  const keyId = parameters?.get('keyId');
  const algorithm = parameters?.get('algorithm');
  const signature = parameters?.get('signature');
  if (keyId === undefined || algorithm === undefined || signature === undefined) return 'bad_signature';
  if (algorithm !== ALGORITHM) return 'other_algorithm';
  if (keyId.length > MOST_KEY_ID_CHARACTERS || !isCanonicalBase64(signature)) return 'bad_signature';
  return { keyId, signature };
}

/** null where the text is no list of parameters, or one stands in it twice. */
function parametersOf(text: string): Map<string, string> | null {
  const parameters = new Map<string, string>();
  let start = 0;
  while (start <= text.length) {
    const end = endOfParameter(text, start);
    const parameter = text.slice(start, end).trim();
    const equals = parameter.indexOf('=');
    const name = parameter.slice(0, Math.max(0, equals));
    const value = valueIn(parameter.slice(equals + 1));
    if (value === null || !PARAMETER_NAME.test(name)) return null;
    if (parameters.has(name) || parameters.size >= MOST_PARAMETERS) return null;
    parameters.set(name, value);
    start = end + 1;
  }
  return parameters;
}

/** The next comma that stands in no quotes. */
function endOfParameter(text: string, start: number): number {
  let isQuoted = false;
  for (let i = start; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (character === 0x22) isQuoted = !isQuoted;
    else if (character === 0x2c && !isQuoted) return i;
  }
  return text.length;
}

function valueIn(text: string): string | null {
  if (PLAIN_VALUE.test(text)) return text;
  return QUOTED_VALUE.test(text) ? text.slice(1, -1) : null;
}

/** Node's decoder takes whatever it is given; two spellings of one signature must not be two signatures. */
function isCanonicalBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text) && Buffer.from(text, 'base64').toString('base64') === text;
}
