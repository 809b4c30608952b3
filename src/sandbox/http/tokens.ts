/** The authentication service: client credentials in, JSON Web Tokens out, and the check of a token on every call. */
import { sign, timingSafeEqual, verify } from 'node:crypto';
import { uuidLike } from '../hash.ts';
import type { RsaKey } from '../keys.ts';
import { type Answer, type Call, json } from './call.ts';

/** The service allows this much between its clock and the token's. */
const CLOCK_SKEW_MS = 1000;

export interface TokenSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly ttlSeconds: number;
  readonly seed: number;
  readonly key: RsaKey;
}

export interface TokenRefusal {
  readonly title: string;
  readonly detail: string;
}

interface Claims {
  readonly exp: number;
  readonly jti: string;
}

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function isoSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export class TokenService {
  readonly #settings: TokenSettings;
  readonly #issued: string[] = [];
  readonly #revoked = new Set<string>();
  /** The token of the last call and what it says: checking a signature takes longer than many an answer. */
  #last: { readonly authorization: string; readonly claims: Claims } | undefined;

  constructor(settings: TokenSettings) {
    this.#settings = settings;
  }

  /** Endpoint 1: 200 with a token; 400, 401 or 406 where the request is not as it must be. */
  answer(call: Call): Answer {
    if (call.query.get('grant_type') !== 'client_credentials')
      return json(400, { error: 'unsupported_grant_type', error_description: 'grant_type must be client_credentials' });
    // The real service "may cause unexpected errors" here; this one makes sure that nobody relies on that.
    if (call.headers.accept !== 'application/json')
      return json(406, { error: 'not_acceptable', error_description: 'Accept must be application/json' });
    if (!this.#knows(call.headers.authorization))
      return json(401, { error: 'invalid_client', error_description: 'Client authentication failed' });
    const { ttlSeconds } = this.#settings;
    const token = {
      access_token: this.#issue(call.now),
      token_type: 'Bearer',
      expires_in: ttlSeconds,
      scope: 'partner',
    };
    return { ...json(200, token), headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } };
  }

  #knows(authorization: string | undefined): boolean {
    const basic = /^Basic ([A-Za-z0-9+/=]+)$/.exec(authorization ?? '');
    if (!basic) return false;
    const { clientId, clientSecret } = this.#settings;
    return same(Buffer.from(basic[1]!, 'base64').toString(), `${clientId}:${clientSecret}`);
  }

  #issue(now: number): string {
    const { clientId, ttlSeconds, seed, key } = this.#settings;
    const iat = Math.floor(now / 1000);
    const jti = uuidLike(seed, this.#issued.length + 1);
    this.#issued.push(jti);
    const claims = { iss: 'sandbox', sub: clientId, scope: 'partner', iat, exp: iat + ttlSeconds, jti };
    const signed = `${base64url({ alg: 'RS256', typ: 'JWT' })}.${base64url(claims)}`;
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key.privateKey).toString('base64url')}`;
  }

  /** No token that was issued until now is accepted any more. */
  revokeAll(): void {
    for (const jti of this.#issued) this.#revoked.add(jti);
  }

  /** Why a call with this Authorization header is refused; undefined when it may pass. */
  refusalOf(authorization: string | undefined, now: number): TokenRefusal | undefined {
    if (authorization === undefined) return { title: 'Missing JWT', detail: 'No bearer token in the request.' };
    const claims = this.#claimsOf(authorization);
    if ('title' in claims) return claims;
    const { exp, jti } = claims;
    if (this.#revoked.has(jti)) return { title: 'Invalid JWT', detail: 'The token was revoked.' };
    const lateMs = now - exp * 1000;
    if (lateMs <= CLOCK_SKEW_MS) return undefined;
    const times = `JWT expired at ${isoSeconds(exp * 1000)}. Current time: ${isoSeconds(now)}`;
    const detail = `${times}, a difference of ${lateMs} milliseconds.  Allowed clock skew: ${CLOCK_SKEW_MS} milliseconds.`;
    return { title: 'Expired JWT', detail };
  }

  /** What a token says that was signed here, or why it counts for nothing. */
  #claimsOf(authorization: string): Claims | TokenRefusal {
    if (this.#last?.authorization === authorization) return this.#last.claims;
    const bearer = /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization);
    if (!bearer) return { title: 'Malformed JWT', detail: 'The Authorization header holds no JWT.' };
    const [, header, payload, signature] = bearer;
    const { publicKey } = this.#settings.key;
    const signed = Buffer.from(`${header}.${payload}`);
    const decoded = Buffer.from(signature!, 'base64url');
    // The last letter has bits to spare, so one signature could be written in several ways; only one is accepted.
    const canonical = decoded.toString('base64url') === signature;
    if (!canonical || !verify('RSA-SHA256', signed, publicKey, decoded))
      return { title: 'Invalid JWT', detail: 'JWT signature does not match locally computed signature.' };
    // Signed by this key, so written by #issue.
    const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString()) as Claims;
    this.#last = { authorization, claims };
    return claims;
  }
}
