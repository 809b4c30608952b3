/** How long a token lasts, by what its answer says. RFC 6749 only recommends that an answer says it. */
import type { Log } from '../../core/log.ts';

/** What the service documents; used where it names no lifetime, or one that cannot be. */
const USUAL_LIFETIME_SECONDS = 299;
const LONGEST_LIFETIME_SECONDS = 86_400;

export interface TokenAnswer {
  readonly value: string;
  /** As it came: absent, a number, or anything else. */
  readonly expiresIn: unknown;
  /** What the service's clock showed when it answered. */
  readonly serviceNowMs: number;
}

/**
 * `expires_in`; else what the token says of itself, where it is a JWT; else what is usual. A guess that is too long costs one 401
 * a token; one that is too short, requests and at last a ban.
 */
export function lifetimeSeconds(answer: TokenAnswer, log: Log): number {
  const { expiresIn } = answer;
  const isText = typeof expiresIn === 'string' && /^\d{1,9}$/.test(expiresIn);
  const named = isText ? Number(expiresIn) : expiresIn;
  for (const seconds of [named, claimedSeconds(answer)])
    if (typeof seconds === 'number' && seconds >= 1 && seconds <= LONGEST_LIFETIME_SECONDS) return seconds;
  log.warn(`the token names no sensible lifetime; it is taken for ${USUAL_LIFETIME_SECONDS} seconds`, {
    expires_in: typeof named === 'number' ? named : typeof named,
  });
  return USUAL_LIFETIME_SECONDS;
}

/**
 * By the claims of a JWT. Both of its instants are of the service's clock, so their distance holds by any clock. The signature is
 * not looked at: a wrong lifetime costs a request, and nothing is believed because of it.
 */
function claimedSeconds({ value, serviceNowMs }: TokenAnswer): number | null {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(value) ?? [];
  if (payload === undefined) return null;
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  const { exp, iat } = (claims ?? {}) as { readonly exp?: unknown; readonly iat?: unknown };
  if (typeof exp !== 'number') return null;
  return Math.floor(exp - (typeof iat === 'number' ? iat : serviceNowMs / 1000));
}
