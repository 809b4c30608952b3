/** Records of ours, as JSON: words for people in which a value may be cited. Figures, names and ids of ours are left alone. */
import type { Erasures } from '../masking/erasures.ts';
import { ANY_SCOPE, maskJson, maskText } from '../masking/mask-text.ts';

const WORDS: ReadonlySet<string> = new Set([
  'command',
  'detail',
  'error_message',
  'errors',
  'example',
  'field',
  'fix',
  'message',
  'url',
]);

/** What is cited may be a piece of JSON, as an example of drift is: a value in it may stand behind escapes. */
export function maskWord(erasures: Erasures, text: string): string {
  const masked = maskText(erasures, text);
  return masked.includes('\\') ? maskJson(erasures, masked, ANY_SCOPE) : masked;
}

/** The value with its words masked; equal to it when nothing is found. */
export function maskWords(erasures: Erasures, value: unknown, member = ''): unknown {
  if (typeof value === 'string') return WORDS.has(member) ? maskWord(erasures, value) : value;
  if (Array.isArray(value)) return value.map((one) => maskWords(erasures, one, member));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, maskWords(erasures, one, name)]));
}
