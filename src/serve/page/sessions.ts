/**
 * Who is signed in: random ids in memory, gone with the process. The id lies in a cookie that scripts cannot read and that no other site's
 * requests carry. The cookie lacks `Secure`, because `serve` itself speaks http; what lies between it and a browser elsewhere is to be
 * a proxy with TLS, or an ssh tunnel.
 *
 *   none ──token──▶ signed in ──12 hours, logout, end of the process──▶ none
 *
 * The id is always ours and always new: one that somebody planted in a browser opens nothing.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { networkOf } from '../source-address.ts';

export interface Session {
  readonly id: string;
  readonly expiresMs: number;
  /** Stands in every form; a foreign page cannot know it. */
  readonly csrf: string;
  /** What came of what was last done; shown once. */
  notice: string | null;
}

const COOKIE = 'partner_etl_session';
const SESSION_MS = 12 * 3_600_000;
const MOST_SESSIONS = 100;
/** An address has ten guesses a minute; others, and who is signed in already, do not notice. */
const MOST_WRONG = 10;
const WRONG_WITHIN_MS = 60_000;
/** Beyond it the addresses that guessed first are forgotten. */
const MOST_ADDRESSES = 1000;

export class Sessions {
  private readonly token: string | null;
  private readonly clock: Clock;
  private readonly sessions = new Map<string, Session>();
  /** When wrong tokens came, by the address that they came from. */
  private readonly wrongMs = new Map<string, number[]>();

  constructor(token: string | null, clock: Clock) {
    this.token = token;
    this.clock = clock;
  }

  /** Whether a token is set at all. */
  get hasToken(): boolean {
    return this.token !== null;
  }

  /** Whether the token is the right one; `too_many`: from this address none is looked at for now, not even the right one. */
  try(token: string, address: string): 'right' | 'wrong' | 'too_many' {
    const nowMs = this.clock.now();
    const from = networkOf(address);
    const wrongMs = (this.wrongMs.get(from) ?? []).filter((ms) => Math.abs(nowMs - ms) < WRONG_WITHIN_MS);
    if (wrongMs.length >= MOST_WRONG) return 'too_many';
    if (this.token !== null && isSame(token, this.token)) return 'right';
    this.wrongMs.delete(from);
    this.wrongMs.set(from, [...wrongMs, nowMs]);
    const [oldest = from] = this.wrongMs.keys();
    if (this.wrongMs.size > MOST_ADDRESSES) this.wrongMs.delete(oldest);
    return 'wrong';
  }

  begin(): Session {
    const nowMs = this.clock.now();
    for (const { id, expiresMs } of this.sessions.values()) if (expiresMs <= nowMs) this.sessions.delete(id);
    const oldest = this.sessions.keys().next().value;
    if (this.sessions.size >= MOST_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
    const session = { id: secret(), csrf: secret(), expiresMs: nowMs + SESSION_MS, notice: null };
    this.sessions.set(session.id, session);
    return session;
  }

  /** Of the request's Cookie header; null when there is none, or it has ended. */
  of(cookies: string | undefined): Session | null {
    const [, id = ''] = new RegExp(`(?:^|;\\s*)${COOKIE}=([0-9a-f]{64})(?:;|$)`).exec(cookies ?? '') ?? [];
    const session = this.sessions.get(id) ?? null;
    return session && session.expiresMs > this.clock.now() ? session : null;
  }

  end({ id }: Session): void {
    this.sessions.delete(id);
  }
}

/** Value of Set-Cookie that brings a session, or with null takes it away. */
export function sessionCookie(session: Session | null): string {
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${session ? SESSION_MS / 1000 : 0}`;
  return `${COOKIE}=${session?.id ?? ''}; ${attributes}`;
}

/** In a time that says nothing of how much of it is right. */
export function isSame(given: string, secretText: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secretText));
}

function secret(): string {
  return randomBytes(32).toString('hex');
}
