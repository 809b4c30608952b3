/**
 * The delivery of push messages, on the sandbox's clock:
 *
 *   made ─▶ attempt 1 ─(fails)─ 1 min ─▶ 2 ─ 2 min ─▶ 3 ─ 4 min ─▶ 4 ─ 8 min ─▶ attempt 5 ─(fails)─▶ dropped
 *
 * A pause begins when the attempt began. It is driven by hand (`deliverDue`) or drives itself (`start`), or both: what one
 * has taken the other does not see. Messages that are sent once (forged ones, and replays of delivered ones) know no retry.
 */

import { hash3 } from '../hash.ts';
import type { DeliveryAnswer, Parcel } from './delivery.ts';
import type { Push, PushAttempt } from './push.ts';

const MINUTE_MS = 60_000;
const RETRY_PAUSES_MS: readonly number[] = [1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS);

/** The order in which messages are sent that are due together: as they became due, the other way round, or any (seeded). */
export type PushOrder = 'due' | 'reverse' | 'random';

export const PUSH_ORDERS: readonly string[] = ['due', 'reverse', 'random'] satisfies PushOrder[];

/** An attempt, and what it was about. */
export interface DeliveryResult extends PushAttempt {
  readonly messageId: number;
  readonly subscriptionId: string;
  /** Of the subscription. */
  readonly url: string;
  /** Address that was called. */
  readonly to: string;
}

export interface DeliverySurroundings {
  readonly seed: number;
  /** The sandbox's clock. */
  readonly now: () => number;
  /** Makes the messages of what has ended by now. */
  readonly advance: () => void;
  readonly addressOf: (url: string) => string;
  /** Never rejects. */
  readonly send: (parcel: Parcel) => Promise<DeliveryAnswer>;
  /** Gets what broke inside the sandbox. */
  readonly failed: (thrown: unknown) => void;
}

export interface Pace {
  readonly everyMs: number;
  /** Messages that are under way at once; 16 unless given. */
  readonly concurrency?: number;
}

/** The next attempt of a message. */
interface Round {
  readonly push: Push;
  readonly dueAt: number;
  readonly isOnce: boolean;
}

const CONCURRENCY = 16;

export class DeliveryQueue {
  readonly #surroundings: DeliverySurroundings;
  order: PushOrder = 'due';
  /** Not due yet, as far as known. */
  #rounds: Round[] = [];
  /** Due, the last one to be sent next. */
  #ready: Round[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #takes = 0;
  #isClosed = false;

  constructor(surroundings: DeliverySurroundings) {
    this.#surroundings = surroundings;
  }

  add(push: Push, dueAt: number): void {
    this.#rounds.push({ push, dueAt, isOnce: false });
  }

  /** For a message that is not tried again. */
  addOnce(push: Push, dueAt: number): void {
    this.#rounds.push({ push, dueAt, isOnce: true });
  }

  /** Carries out what is due now, `concurrency` messages at a time, and waits for what is under way besides. */
  async deliverDue(concurrency: number): Promise<DeliveryResult[]> {
    const results: DeliveryResult[] = [];
    while (this.#takeDue()) {
      const rounds = this.#ready.splice(0);
      const settled: DeliveryResult[][] = [];
      const work = async () => {
        while (rounds.length > 0 && !this.#isClosed) {
          const place = settled.push([]) - 1;
          settled[place] = await this.#tracked(rounds.pop()!);
        }
      };
      await Promise.all(Array.from({ length: Math.min(concurrency, rounds.length) }, work));
      results.push(...settled.flat());
      if (this.#isClosed) break;
    }
    await Promise.all(this.#underWay);
    return results;
  }

  /** From now on it looks every so often for what is due; ended by `close`. */
  start({ everyMs, concurrency = CONCURRENCY }: Pace): void {
    const pump = () => {
      while (this.#ready.length > 0 && this.#underWay.size < concurrency && !this.#isClosed)
        this.#tracked(this.#ready.pop()!).then(pump, this.#surroundings.failed);
    };
    this.#timer = setInterval(() => {
      try {
        this.#takeDue();
        pump();
      } catch (thrown) {
        this.#surroundings.failed(thrown);
      }
    }, everyMs);
  }

  /** No attempt begins any more; resolves when those under way are over, which the sender breaks off. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#underWay);
  }

  /** Moves what is due behind what is ready; false when nothing is ready. */
  #takeDue(): boolean {
    const { now: clock, advance } = this.#surroundings;
    advance();
    const now = clock();
    const due = this.#rounds.filter(({ dueAt }) => dueAt <= now);
    if (due.length > 0) {
      this.#rounds = this.#rounds.filter(({ dueAt }) => dueAt > now);
      this.#ready = this.#ordered(due).reverse().concat(this.#ready);
    }
    return this.#ready.length > 0;
  }

  #ordered(due: Round[]): Round[] {
    const [take, { seed }] = [++this.#takes, this.#surroundings];
    const byTime = due.sort((a, b) => a.dueAt - b.dueAt || a.push.id - b.push.id);
    if (this.order === 'due') return byTime;
    if (this.order === 'reverse') return byTime.reverse();
    const places = new Map(byTime.map((round) => [round, hash3(seed, take, round.push.id)]));
    return byTime.sort((a, b) => places.get(a)! - places.get(b)!);
  }

  #tracked(round: Round): Promise<DeliveryResult[]> {
    const results = this.#carryOut(round);
    this.#underWay.add(results);
    const over = () => this.#underWay.delete(results);
    results.then(over, over);
    return results;
  }

  async #carryOut({ push, isOnce }: Round): Promise<DeliveryResult[]> {
    const { now } = this.#surroundings;
    const at = now();
    const attempt = (push.attempts.at(-1)?.attempt ?? 0) + 1;
    const isAnswerLost = push.answersToLose > 0;
    if (isAnswerLost) push.answersToLose--;
    const copies = Array.from({ length: push.copies }, () => this.#attempt(push, attempt, at, isAnswerLost));
    push.copies = 1;
    const results = await Promise.all(copies);
    if (push.state === 'waiting') this.#settle(push, { attempt, at, isOnce });
    return results;
  }

  /** What becomes of a message that was waiting, after an attempt. */
  #settle(push: Push, { attempt, at, isOnce }: { attempt: number; at: number; isOnce: boolean }): void {
    const pauseMs = isOnce ? undefined : RETRY_PAUSES_MS[attempt - 1];
    if (push.attempts.some(({ error }) => error === null)) push.state = 'delivered';
    else if (pauseMs === undefined) push.state = 'dropped';
    else this.add(push, at + pauseMs);
  }

  async #attempt(push: Push, attempt: number, at: number, isAnswerLost: boolean): Promise<DeliveryResult> {
    const { now, send, addressOf } = this.#surroundings;
    const to = addressOf(push.url);
    const answer = await send(push);
    const error = answer.error ?? (isAnswerLost ? 'the answer was lost' : null);
    const made: PushAttempt = { attempt, at, endedAt: now(), status: answer.status, error };
    push.attempts.push(made);
    return { messageId: push.id, subscriptionId: push.subscriptionId, url: push.url, to, ...made };
  }
}
