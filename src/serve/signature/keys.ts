/**
 * The service's public keys: in memory, and in the state, so that a restart needs no call.
 *
 * States: known keys (maybe none), and at most one fetch under way. A fetch is begun by a message whose key is unknown, by a wrong
 * signature (the service may use an id for a new key), and by keys that are older than a day; it is begun at most once in
 * `refreshSeconds`, however many forged messages come in. Messages wait for a fetch a short while, and only some at once.
 *
 * After a fetch only the keys that it listed are trusted: the service issues new ones when old ones are compromised, so one that
 * has vanished from the list may be in anybody's hands. A message that it signed honestly is refused then and lost, unless it is
 * sent again with a new key. A list without a single usable key is taken for a mistake and changes nothing.
 */
import { z } from 'zod';
import { type Clock, isoTime } from '../../core/clock.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { foreignText } from '../../core/redact.ts';
import type { SignatureKey } from '../../extract/subscription-shapes.ts';
import type { State } from '../../store/state.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import { type VerifyingKey, verifyingKey } from './signature.ts';

export interface SignatureKeysOptions {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  /** A fetch is begun at most once in so many seconds. */
  readonly refreshSeconds: number;
  /** Asks the service. Given up when the signal is aborted. */
  readonly fetchKeys: (signal: AbortSignal) => Promise<readonly SignatureKey[]>;
}

/** `unknown`: the service does not list it. `unavailable`: we could not ask, so it may be one of the service's. */
export type KeyFault = 'unknown' | 'unavailable';

/** The sender hears nothing meanwhile, and gives up after 5 s. */
const LONGEST_WAIT_MS = 3_000;
/** Forged messages must not keep true ones waiting: each that waits holds a connection. */
const MOST_WAITING = 64;
const FETCH_MS = 30_000;
const STALE_AFTER_MS = 86_400_000;

const MEMO = 'signature-keys';

const cacheShape = z.object({
  fetchedAtMs: z.number(),
  keys: z.array(z.object({ id: z.string(), type: z.string(), publicKey: z.string() })),
});

type Fitted = ReadonlyMap<string, VerifyingKey>;

export class SignatureKeys {
  /** Times that the service was asked. */
  fetches = 0;
  private readonly options: SignatureKeysOptions;
  private readonly stop = new AbortController();
  private keys: Fitted = new Map();
  /** null: there are none. */
  private fetchedAtMs: number | null = null;
  private askedAtMs: number | null = null;
  private hasAnswered = false;
  private underWay: Promise<void> | null = null;
  private storing: Promise<void> = Promise.resolve();
  private waiting = 0;

  private constructor(options: SignatureKeysOptions) {
    this.options = options;
  }

  /** Reads the cache; begins a fetch, and does not wait for it, when that is missing or older than a day. */
  static async open(options: SignatureKeysOptions): Promise<SignatureKeys> {
    const keys = new SignatureKeys(options);
    const cached = await readMemo(options.state.db, MEMO, cacheShape);
    if (cached !== null) keys.trust(cached.keys, cached.fetchedAtMs);
    if (keys.isStale()) keys.refresh();
    return keys;
  }

  /** The key of that id, if it is known. */
  find(keyId: string): VerifyingKey | undefined {
    if (this.isStale()) this.refresh();
    return this.keys.get(keyId);
  }

  /** The key of an id that is not known: asks the service for it, if it is time to. Never rejects. */
  async lookFor(keyId: string): Promise<VerifyingKey | KeyFault> {
    const fetch = this.refresh();
    if (fetch !== null) {
      if (this.waiting >= MOST_WAITING) return 'unavailable';
      if (!(await this.isInTime(fetch))) return 'unavailable';
    }
    return this.keys.get(keyId) ?? (this.hasAnswered ? 'unknown' : 'unavailable');
  }

  /** A signature was wrong: a forgery, or the service has a new key under an old id. */
  doubt(): void {
    this.refresh();
  }

  /** Gives up a fetch under way. */
  async close(): Promise<void> {
    this.stop.abort(new EtlError('failed', 'closing', 'the receiver is closing'));
    await this.underWay;
    await this.storing;
  }

  private isStale(): boolean {
    const ageMs = this.fetchedAtMs === null ? STALE_AFTER_MS : this.options.clock.now() - this.fetchedAtMs;
    return ageMs < 0 || ageMs >= STALE_AFTER_MS;
  }

  /** The fetch under way, begun if it is time to; null when it is not. */
  private refresh(): Promise<void> | null {
    if (this.underWay !== null || this.stop.signal.aborted) return this.underWay;
    const { clock, refreshSeconds } = this.options;
    const sinceMs = this.askedAtMs === null ? null : clock.now() - this.askedAtMs;
    // A clock that was set back must not put the next fetch off.
    if (sinceMs !== null && sinceMs >= 0 && sinceMs < refreshSeconds * 1000) return null;
    this.askedAtMs = clock.now();
    this.fetches += 1;
    this.underWay = this.fetch().finally(() => {
      this.underWay = null;
    });
    return this.underWay;
  }

  private async fetch(): Promise<void> {
    this.hasAnswered = false;
    try {
      const listed = await this.ask();
      const fetchedAtMs = this.options.clock.now();
      if (!this.trust(listed, fetchedAtMs))
        throw new EtlError('failed', 'no_usable_key', `none of its ${listed.length} keys is usable`);
      this.hasAnswered = true;
      // Messages wait for the keys, not for the disk.
      this.storing = this.storing.then(() => this.store(listed, fetchedAtMs));
    } catch (thrown) {
      if (!this.stop.signal.aborted) this.warn('the signature keys cannot be fetched', thrown);
    }
  }

  private async store(keys: readonly SignatureKey[], fetchedAtMs: number): Promise<void> {
    try {
      await writeMemo(this.options.state, MEMO, { fetchedAtMs, keys }, isoTime(fetchedAtMs));
    } catch (thrown) {
      this.warn('the signature keys cannot be stored', thrown);
    }
  }

  private warn(what: string, thrown: unknown): void {
    const { message, kind, code, hint } = asEtlError(thrown);
    const fields = { code: `${kind}/${code}`, known: this.keys.size, ...(hint === undefined ? {} : { hint }) };
    this.options.log.warn(`${what}: ${foreignText(message, [], 500)}`, fields);
  }

  /** The service's answer within a time; longer pauses of a call that is tried again are not for us. */
  private async ask(): Promise<readonly SignatureKey[]> {
    const { clock, fetchKeys } = this.options;
    const limit = new AbortController();
    const over = new AbortController();
    const giveUp = () => limit.abort(this.stop.signal.reason);
    this.stop.signal.addEventListener('abort', giveUp, { once: true });
    const timeout = () =>
      limit.abort(new EtlError('failed', 'timeout', `the service did not give its keys within ${FETCH_MS} ms`));
    clock.sleep(FETCH_MS, over.signal).then(timeout, () => undefined);
    try {
      return await fetchKeys(limit.signal);
    } finally {
      over.abort();
      this.stop.signal.removeEventListener('abort', giveUp);
    }
  }

  /** Trusts these keys and no others, as far as they can be used; false, and nothing is changed, when none of them can. */
  private trust(listed: readonly SignatureKey[], fetchedAtMs: number): boolean {
    const fitted = new Map<string, VerifyingKey>();
    for (const { id, publicKey } of listed) {
      const key = verifyingKey(publicKey);
      if ('unfit' in key) this.tellUnfit(id, key.unfit);
      else fitted.set(id, key);
    }
    if (fitted.size === 0) return false;
    this.keys = fitted;
    this.fetchedAtMs = fetchedAtMs;
    return true;
  }

  private tellUnfit(id: string, why: string): void {
    this.options.log.warn('a signature key is left out', { keyId: foreignText(id, [], 100), why });
  }

  private async isInTime(fetch: Promise<void>): Promise<boolean> {
    const over = new AbortController();
    const late = this.options.clock.sleep(LONGEST_WAIT_MS, over.signal).then(
      () => false,
      () => true, // the fetch was done before
    );
    this.waiting += 1;
    try {
      return await Promise.race([fetch.then(() => true), late]);
    } finally {
      this.waiting -= 1;
      over.abort();
    }
  }
}
