/**
 * The access token: one for the whole installation, reused until shortly before it expires.
 *
 * Where it comes from, in this order: this process's memory; the cache on disk; a request, made by one process at a time under
 * the token's lock, after looking into the cache once more. Within a process all who need it wait for the same flight.
 * Invariants: a token that the service has rejected is not given out again; a request is only made by askForToken, behind the
 * circuit; a flight ends when nobody waits for it any more.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Clock } from '../core/clock.ts';
import { isoTime } from '../core/clock.ts';
import type { HomePaths } from '../core/home.ts';
import type { Log } from '../core/log.ts';
import { isPrintOf, printOf } from './credential-print.ts';
import { exclusively } from './exclusive.ts';
import type { PartnerSettings } from './settings.ts';
import { askForToken } from './token-asking.ts';
import { readTokenCache, type Token, writeTokenCache } from './token-cache.ts';
import { circuitState, readCircuit } from './token-circuit.ts';
import { unlessAborted } from './wait.ts';

export type { Token } from './token-cache.ts';

/** For doctor and status; reading it asks nobody for anything. */
export interface TokenState {
  /** When the token on disk expires; null where there is none that can be used. */
  readonly expiresAt: string | null;
  readonly circuit: 'closed' | 'open' | 'half-open';
  /** `credentials_refused` or `address_banned`; null while the circuit is closed. */
  readonly refusal: string | null;
  /** What the service said with the refusal. */
  readonly said: string | null;
  /** When the next request is allowed, where the circuit is open. */
  readonly notBefore: string | null;
  readonly requestsLastHour: number;
  readonly mostPerHour: number;
}

export interface TokenSource {
  /**
   * A token that can be used now. Errors: `refused/credentials_refused`, `refused/address_banned`, `refused/token_budget`,
   * `refused/token_type`, `failed/…` when no token came; the signal's reason.
   */
  get(signal?: AbortSignal): Promise<Token>;
  /** A token other than the one that the service has rejected: somebody else's newer one, or a new one. Errors as of get. */
  renew(rejected: Token, signal?: AbortSignal): Promise<Token>;
  state(): Promise<TokenState>;
}

export interface TokenSourceOptions {
  readonly settings: PartnerSettings;
  readonly home: HomePaths;
  readonly clock: Clock;
  /** Evenly from [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  /** The user whose files are trusted; null where files have no owners. */
  readonly uid?: number | null;
}

interface Flight {
  readonly rejected: string | null;
  readonly token: Promise<Token>;
  readonly stop: AbortController;
  waiting: number;
}

/** Where the token of these settings, its circuit and its lock lie. */
export function tokenFiles({ authUrl, credentials }: PartnerSettings, home: HomePaths) {
  const key = createHash('sha256')
    .update(authUrl + credentials.clientId)
    .digest('hex')
    .slice(0, 12);
  return {
    cache: path.join(home.state, `token-${key}.json`),
    circuit: path.join(home.state, `circuit-${key}.json`),
    lock: path.join(home.locks, `token-${key}`),
  };
}

export class CachedTokenSource implements TokenSource {
  private readonly options: TokenSourceOptions;
  private readonly files: ReturnType<typeof tokenFiles>;
  private readonly uid: number | null;
  private current: Token | null = null;
  /** The last token that the service has rejected. */
  private rejected: string | null = null;
  private flight: Flight | null = null;
  private complaint: string | null = null;

  constructor(options: TokenSourceOptions) {
    this.options = options;
    this.files = tokenFiles(options.settings, options.home);
    this.uid = options.uid === undefined ? (process.getuid?.() ?? null) : options.uid;
  }

  async get(signal?: AbortSignal): Promise<Token> {
    signal?.throwIfAborted();
    if (this.current && this.isUsable(this.current)) return this.current;
    if (!this.flight) {
      const cached = await this.cached();
      if (cached) {
        this.current = cached;
        return cached;
      }
    }
    return this.wait(this.flight ?? this.start(), signal);
  }

  async renew(rejected: Token, signal?: AbortSignal): Promise<Token> {
    signal?.throwIfAborted();
    if (this.current && this.current.value !== rejected.value && this.isUsable(this.current)) return this.current;
    if (this.flight && this.flight.rejected !== rejected.value) {
      const other = await this.wait(this.flight, signal);
      if (other.value !== rejected.value) return other;
    }
    this.rejected = rejected.value;
    return this.wait(this.flight ?? this.start(), signal);
  }

  async state(): Promise<TokenState> {
    const { settings, clock, log } = this.options;
    const nowMs = clock.now();
    const circuit = await readCircuit(this.files.circuit, settings.credentials, nowMs, log);
    const cached = await this.cached();
    const state = circuitState(circuit, nowMs);
    return {
      expiresAt: cached && isoTime(cached.expiresAtMs),
      circuit: state,
      refusal: circuit.refusal?.code ?? null,
      said: circuit.refusal?.said ?? null,
      notBefore: circuit.refusal && state === 'open' ? isoTime(circuit.refusal.notBeforeMs) : null,
      requestsLastHour: circuit.requestsMs.length,
      mostPerHour: settings.token.mostPerHour,
    };
  }

  private start(): Flight {
    const stop = new AbortController();
    const flight: Flight = { rejected: this.rejected, stop, waiting: 0, token: this.obtain(stop.signal) };
    const landed = () => {
      if (this.flight === flight) this.flight = null;
    };
    flight.token.then(landed, landed);
    this.flight = flight;
    return flight;
  }

  private async wait(flight: Flight, signal: AbortSignal | undefined): Promise<Token> {
    flight.waiting += 1;
    try {
      return await unlessAborted(signal, flight.token);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        flight.stop.abort(signal?.reason);
        if (this.flight === flight) this.flight = null;
      }
    }
  }

  private async obtain(signal: AbortSignal): Promise<Token> {
    const { settings, clock, random, log } = this.options;
    // Another process may hold the lock through all of its tries.
    const waitMs = settings.timeouts.totalMs + 30_000;
    this.current = await exclusively(this.files.lock, 'asking for a token', clock, waitMs, async () => {
      signal.throwIfAborted();
      const cached = await this.cached();
      if (cached) return cached;
      const token = await askForToken({ settings, circuitFile: this.files.circuit, clock, random, log }, signal);
      await this.keep(token);
      return token;
    });
    // Even where the service gave the rejected one again: it is the newest there is, and the next 401 ends the call.
    this.rejected = null;
    return this.current;
  }

  private async keep(token: Token): Promise<void> {
    const print = printOf(this.options.settings.credentials);
    try {
      await writeTokenCache(this.files.cache, { token, print });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.options.log.warn(`the token cannot be kept for other processes: ${code}`, { file: this.files.cache });
    }
  }

  /** The token on disk, where it can be trusted and used; null otherwise. */
  private async cached(): Promise<Token | null> {
    const found = await readTokenCache(this.files.cache, this.uid);
    if (found === null) return null;
    if ('unfit' in found) {
      this.complain(found.unfit);
      return null;
    }
    return isPrintOf(found.print, this.options.settings.credentials) && this.isUsable(found.token) ? found.token : null;
  }

  private complain(unfit: string): void {
    if (unfit === this.complaint) return;
    this.complaint = unfit;
    const message = `the token cache is not used and will be replaced: ${unfit}`;
    this.options.log.warn(message, { file: this.files.cache });
  }

  private isUsable({ value, obtainedAtMs, expiresAtMs }: Token): boolean {
    if (value === this.rejected) return false;
    const nowMs = this.options.clock.now();
    // Half of the lifetime at the most, or a token with a short one would be out of use from the beginning.
    const earlyMs = Math.min(this.options.settings.token.renewBeforeSeconds * 1000, (expiresAtMs - obtainedAtMs) / 2);
    // A token from the future: our clock was set back since, and says nothing about its age.
    return obtainedAtMs <= nowMs && nowMs < expiresAtMs - earlyMs;
  }
}
