/**
 * Foreign text made fit for a message, a log or a record: without secrets, without control characters, short.
 * The service may echo anything, also the token that we sent it.
 */

import { isOwnWords, type SecretForm, secretForms } from './secret-forms.ts';

const MASK = '[redacted]';
/** A text that was cut inside a secret ends in this much of it, or more. */
const SHORTEST_BEGINNING = 8;
/** Credentials that look like some, whoever's they are: after an Authorization scheme, or a JWT. */
const AUTHORIZATION = /\b(bearer|basic)\s+([A-Za-z0-9+/=._~-]{16,})/gi;
/** What stands there in a sentence: `basic authentication-required`. */
const WORDS = /^[A-Za-z][a-z]{0,17}(?:[-_/][a-z]{1,18}){0,3}\.?$/;
const JWT = /\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g;
const LONE_SURROGATE = /\p{Surrogate}/gu;
/** Control characters besides white space, and what hides or turns text on a terminal (zero width, direction). */
const UNSEEN =
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;
const WHITE_SPACE = /[\s\u0085]+/g;
/** What JSON lets through and a terminal acts on. */
const UNSEEN_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;
/** What moves the cursor, colours, rings or turns the direction; a line break and a tab do not, nor does what joins letters. */
const ACTS_ON_TERMINAL =
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** JSON in which nothing acts on a terminal: as escapes the same for whoever reads it. */
export function escapedJson(json: string): string {
  return json.replaceAll(UNSEEN_IN_JSON, (unseen) =>
    Array.from(unseen.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Text for a terminal, whoever wrote it: what it would act on is shown as U+FFFD. Lines and tabs stay. */
export function terminalText(text: string): string {
  return text.replace(ACTS_ON_TERMINAL, '\ufffd');
}

/** The text without the given secrets, plain or as a URL, JSON or base64 would write them; secret-forms.ts says where they are looked for. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const form of secretForms(secrets)) clean = withoutBeginning(clean.replace(form.pattern, MASK), form);
  return clean
    .replace(AUTHORIZATION, (all, scheme: string, what: string) => (WORDS.test(what) ? all : `${scheme} ${MASK}`))
    .replace(JWT, MASK);
}

/**
 * What somebody else wrote, for a message: one line of at most `mostChars` characters. Control characters go first, since
 * a secret may be spread between them; the cut comes last, since half a secret is one too.
 */
export function foreignText(text: string, secrets: readonly string[], mostChars: number): string {
  const line = text.replace(UNSEEN, '').replace(WHITE_SPACE, ' ').trim();
  const clean = redact(line, secrets);
  const short = clean.length <= mostChars ? clean : `${clean.slice(0, mostChars)}…`;
  return short.replace(LONE_SURROGATE, '\ufffd');
}

/** A text that was cut off inside a secret still ends in the secret's beginning. What anybody's secret begins with is no secret. */
function withoutBeginning(text: string, { text: form, publicChars }: SecretForm): string {
  const shortest = Math.max(SHORTEST_BEGINNING, publicChars + 1);
  for (let length = Math.min(form.length - 1, text.length); length >= shortest; length--) {
    const beginning = form.slice(0, length);
    if (text.endsWith(beginning) && !isOwnWords(beginning)) return text.slice(0, -length) + MASK;
  }
  return text;
}
