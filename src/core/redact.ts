/**
 * Foreign text made fit for a message, a log or a record: without secrets, without control characters, short.
 * The service may echo anything, also the token that we sent it.
 */

const MASK = '[redacted]';
/** Shorter than this a secret is not looked for: its letters would be found in every word. */
const SHORTEST_SECRET = 4;
/** A text that was cut inside a secret ends in this much of it, or more. */
const SHORTEST_BEGINNING = 8;
/** Credentials that look like some, whoever's they are: after an Authorization scheme, or a JWT. */
const AUTHORIZATION = /\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{16,}/gi;
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

/** The text without the given secrets, plain or as a URL, JSON or base64 would write them. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const form of formsOf(secrets)) clean = withoutBeginning(clean.replaceAll(form, MASK), form);
  return clean.replace(AUTHORIZATION, `$1 ${MASK}`).replace(JWT, MASK);
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

function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret.replace(LONE_SURROGATE, '\ufffd')),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
    ]);
  // The longest first, or a short secret inside a long one would leave the rest of the long one standing.
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** A text that was cut off inside a secret still ends in the secret's beginning. */
function withoutBeginning(text: string, form: string): string {
  for (let length = Math.min(form.length - 1, text.length); length >= SHORTEST_BEGINNING; length--)
    if (text.endsWith(form.slice(0, length))) return text.slice(0, -length) + MASK;
  return text;
}
