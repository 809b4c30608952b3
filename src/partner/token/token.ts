/**
 * The access token: one for the whole installation, reused until shortly before it expires.
 *
 * Where it comes from, in this order: this process's memory; the state; a request, made by one process at a time, after looking into
 * the state once more. Within a process all who need it wait for the same flight.
 * Invariants: a token that the service has rejected is not given out again; a request is only made by askForToken, behind the
 * circuit; a flight ends when nobody waits for it any more.
 */
import type { Clock } from '../../core/clock.ts';
import { isoTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { State } from '../../store/state.ts';
import type { Token } from '../../store/tables/token.ts';
import { unlessAborted } from '../pacing/wait.ts';
import type { PartnerSettings } from '../settings.ts';
import { askForToken } from './asking.ts';
import { circuitState, readCircuit } from './circuit.ts';

export type { Token } from '../../store/tables/token.ts';

/** For doctor and status; reading it asks nobody for anything. */
export interface TokenState {
  /** When the token in the state expires; null where there is none that can be used. */
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
  readonly state: State;
  readonly clock: Clock;
  /** Evenly from [0, 1). */
  readonly random: () => number;
  readonly log: Log;
}

interface Flight {
  readonly rejected: string | null;
  readonly token: Promise<Token>;
  readonly stop: AbortController;
  waiting: number;
}

export class CachedTokenSource implements TokenSource {
  private readonly options: TokenSourceOptions;
  private current: Token | null = null;
  /** The last token that the service has rejected. */
  private rejected: string | null = null;
  private flight: Flight | null = null;

  constructor(options: TokenSourceOptions) {
    this.options = options;
  }

  async get(signal?: AbortSignal): Promise<Token> {
    signal?.throwIfAborted();
    if (this.current && this.isUsable(this.current)) return this.current;
    if (!this.flight) {
      const { settings, state, clock } = this.options;
      const { token } = await readCircuit(state.db, settings, clock.now());
      if (token && this.isUsable(token)) {
        this.current = token;
        return token;
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
    const { settings, state: store, clock } = this.options;
    const nowMs = clock.now();
    const circuit = await readCircuit(store.db, settings, nowMs);
    const { token, refusal } = circuit;
    const state = circuitState(circuit, nowMs);
    return {
      expiresAt: token && this.isUsable(token) ? isoTime(token.expiresAtMs) : null,
      circuit: state,
      refusal: refusal?.code ?? null,
      said: refusal?.said ?? null,
      notBefore: refusal && state === 'open' ? isoTime(refusal.notBeforeMs) : null,
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
    this.current = await askForToken({ ...this.options, isUsable: (token) => this.isUsable(token) }, signal);
    // Even where the service gave the rejected one again: it is the newest there is, and the next 401 ends the call.
    this.rejected = null;
    return this.current;
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
