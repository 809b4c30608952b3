/**
 * How a secret is looked for in text. What is taken out must be the secret, and not a word that it shares with everything the
 * program says: `postgres` is a target, a scheme, a user and, on many a machine, the password.
 */

/** Shorter than this a secret is not looked for: its letters would be found in every word. */
const SHORTEST_SECRET = 4;
/** Shorter than this it is looked for as a whole word only: `main` is in `remains`. */
const SHORTEST_INSIDE_WORDS = 8;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/**
 * Words that this program writes, and those that stand in examples of settings. A secret that is made of them alone hides nothing
 * and would spoil every message; it is taken out where it stands as a credential.
 */
const OWN_WORDS: ReadonlySet<string> = new Set(
  `http https smtp smtps postgres postgresql pg sql duckdb ducklake delta parquet sqlite database db warehouse lake mart marts raw store target targets
  partner etl service client secret password passwd token user admin root test demo sandbox localhost example default public main
  account run runs night plan status serve backfill replay rebuild verify prune erase lookup explain release retry alert alerts page
  order orders promotion promotions commission commissions product products reduction reductions subscription subscriptions push
  rate rates process link links message messages report reports slice slices fetch fetches row rows day days date true false null none`.split(
    /\s+/,
  ),
);

export interface SecretForm {
  readonly text: string;
  /** Every place where it is the secret. */
  readonly pattern: RegExp;
  /** So many characters of its beginning are no secret: scheme, user and host of an address. */
  readonly publicChars: number;
}

/** The secrets, plain or as a URL, JSON or base64 would write them; the longest first, or a short one inside a long one would leave its rest. */
export function secretForms(secrets: readonly string[]): readonly SecretForm[] {
  if (secrets.length !== last.of.length || secrets.some((secret, i) => secret !== last.of[i]))
    last = { of: [...secrets], forms: formsOf(secrets) };
  return last.forms;
}

/** A client asks for those of the same secrets with every call, and to make them takes longer than to look for them. */
let last: { readonly of: readonly string[]; readonly forms: readonly SecretForm[] } = { of: [], forms: [] };

function formsOf(secrets: readonly string[]): SecretForm[] {
  const forms = new Map<string, SecretForm>();
  for (const secret of secrets)
    if (secret.length >= SHORTEST_SECRET)
      for (const write of WRITTEN) {
        const text = write(secret);
        forms.set(text, {
          text,
          pattern: patternOf(text),
          publicChars: write(publicPart(secret)).replace(/=+$/, '').length,
        });
      }
  return [...forms.values()].sort((a, b) => b.text.length - a.text.length);
}

/** Whether a text is made of the program's own words alone, such as `partner-etl` or `postgres://`. */
export function isOwnWords(text: string): boolean {
  if (/\d/.test(text)) return false;
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.length > 0 && words.every((word) => OWN_WORDS.has(word));
}

const WRITTEN: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => encodeURIComponent(secret.replace(LONE_SURROGATE, '\ufffd')),
  (secret) => JSON.stringify(secret).slice(1, -1),
  (secret) => Buffer.from(secret).toString('base64'),
];

function patternOf(text: string): RegExp {
  const quoted = text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (/^[\p{L}_-]+$/u.test(text) && isOwnWords(text)) {
    // What stands in front is looked at behind the word: asked at every place of a long text, it would take its time.
    const inAddress = `(?<=://[^\\s/@:]*:${quoted})(?=@)`;
    const named = `(?<=\\b(?:password|passwd|pwd|pass|secret|token)["'\\s:=]{1,4}${quoted})(?![A-Za-z0-9])`;
    return new RegExp(`${quoted}(?:${inAddress}|${named})`, 'gi');
  }
  if (text.length >= SHORTEST_INSIDE_WORDS) return new RegExp(quoted, 'g');
  // A letter behind a backslash is an escape of JSON, and no part of the word.
  return new RegExp(`(?<!(?<!\\\\)[A-Za-z0-9])${quoted}(?![A-Za-z0-9])`, 'g');
}

/** Of an address with a password what stands before that, of another one what stands before its path, of a path its first part. */
function publicPart(secret: string): string {
  return /^(?:(?:[a-z][a-z0-9+.-]*:)+\/\/(?:[^\s/@:]*:(?=[^\s/]*@)|[^\s/]*\/?)|\/[^/]*\/?)/i.exec(secret)?.[0] ?? '';
}
