/**
 * The calls that count in a budget of `calls` in any `perSeconds` seconds, as the service sees them arrive.
 *
 * The service counts arrivals; we know when a request was written and when its answer began. Two requests are not equally long
 * on their way, so a call counts for its window and a margin on top. A fixed margin would be wrong twice: one of 50 ms costs 5 %
 * of a second's budget, and does not cover the one request in a thousand that the network sends twice and that comes 200 ms
 * late. But the answer tells: it cannot have begun before the request arrived. Let `fastest` be the shortest time that an answer
 * took lately: way there, work and way back at their best. A call whose answer took `fastest + excess` arrived at the most
 * `excess` later than at best, and whatever is sent next arrives at best or later. So with a window of `perSeconds + excess`
 * no jitter brings more calls into the service's window than allowed.
 *
 * `excess` also holds what the service itself took longer, which is no reason to wait. Hence a cap on it, which settles where the
 * margins are ALLOWANCE of the window on average: high (ten times that) where answers are even and only stragglers reach it, low
 * where they are not, but never below the allowance. Until the answer is here the margin is the cap. Of 28 calls a second 97 %
 * are made where answers take from 50 to 390 ms, and 99 % where they are even (test/partner/arrivals.test.ts).
 *
 * Bookkeeping is a wheel of milliseconds: how many calls leave at each. Every step is O(1), but for walking over the milliseconds
 * that have passed, each once.
 */
import { assert } from '../core/errors.ts';

/** What margins may cost on average, as a part of the window. */
const ALLOWANCE = 0.025;
/** Over longer windows this is enough, in milliseconds. */
const LONGEST_ALLOWANCE_MS = 50;
/** The cap may rise to so many times the allowance: 250 ms in a second, which covers a request that was sent twice. */
const CAP_RISE = 10;
/** Clocks tick in milliseconds and drift, and the fastest answer was not the fastest there can be: 5 ms in a second. */
const SLACK_PART = 0.2;
/** Of a few answers even the fastest may have been slow; how slow falls with their number. 100 ms in a second for the first. */
const IGNORANCE_PART = 4;
/** Where answers differ much, few come near the fastest there can be, and the fastest that came may be far from it. */
const SPREAD_PART = 0.2;
/** How fast the cap and the usual excess follow: within some calls, so that the first second costs little. */
const CAP_GAIN = 0.3;
const USUAL_GAIN = 0.1;
/** `fastest` is of so many answers to twice as many, so that a way that has become longer is learnt. */
const FASTEST_OF = 256;

/** A call that counts from its turn until its window has passed. */
export interface CountedCall {
  /** null until it is written. */
  sentMs: number | null;
  /** When it leaves; meaningful once it is sent. */
  leavesMs: number;
  /** Of the wheel that it was put on. */
  wheel: Int32Array | null;
}

export class CallWindow {
  private readonly windowMs: number;
  private readonly allowanceMs: number;
  private capMs: number;
  /** Calls that have a turn and are not sent, and those on the wheel. */
  private counted = 0;
  private unsent = 0;
  /** How many calls leave at a millisecond, modulo its length. */
  private wheel: Int32Array;
  /** Everything up to here has left. */
  private sweptMs: number;
  private fastestMs = Number.POSITIVE_INFINITY;
  private fastestBeforeMs = Number.POSITIVE_INFINITY;
  private answers = 0;
  private usualExcessMs = 0;

  /** `perSeconds` below some minutes: the wheel has four bytes for each millisecond. */
  constructor(perSeconds: number, nowMs: number) {
    this.windowMs = perSeconds * 1000;
    this.allowanceMs = Math.min(LONGEST_ALLOWANCE_MS, this.windowMs * ALLOWANCE);
    this.capMs = this.allowanceMs * CAP_RISE;
    this.wheel = new Int32Array(this.windowMs + Math.ceil(this.allowanceMs * CAP_RISE) + 2);
    this.sweptMs = Math.floor(nowMs);
  }

  /** Calls that count now. */
  count(nowMs: number): number {
    this.sweep(nowMs);
    return this.counted;
  }

  /** Milliseconds until there is room for a call where `calls` may count; 0 for now; Infinity while that hangs on unsent calls. */
  waitMs(calls: number, nowMs: number): number {
    this.sweep(nowMs);
    let over = this.counted - calls + 1;
    if (over <= 0) return 0;
    if (over > this.counted - this.unsent) return Number.POSITIVE_INFINITY;
    let atMs = this.sweptMs;
    while (over > 0) {
      atMs += 1;
      over -= this.wheel[atMs % this.wheel.length]!;
    }
    return atMs - nowMs;
  }

  /** A turn is given. */
  add(): CountedCall {
    this.counted += 1;
    this.unsent += 1;
    return { sentMs: null, leavesMs: Number.POSITIVE_INFINITY, wheel: null };
  }

  /** The request is written, or will never be. */
  sent(call: CountedCall, nowMs: number): void {
    if (call.sentMs !== null) return;
    this.sweep(nowMs);
    this.unsent -= 1;
    call.sentMs = nowMs;
    this.put(call, nowMs + this.windowMs + this.capMs);
  }

  /** The answer has begun. */
  answered(call: CountedCall, nowMs: number): void {
    if (call.sentMs === null) return;
    this.sweep(nowMs);
    const tookMs = nowMs - call.sentMs;
    if (tookMs < 0) return; // the clock was set back in between
    this.learn(tookMs);
    const known = this.answers + (this.fastestBeforeMs === Number.POSITIVE_INFINITY ? 0 : FASTEST_OF);
    const excessMs = tookMs - Math.min(this.fastestMs, this.fastestBeforeMs);
    this.usualExcessMs += USUAL_GAIN * (excessMs - this.usualExcessMs);
    const slackMs = this.allowanceMs * (SLACK_PART + IGNORANCE_PART / known) + SPREAD_PART * this.usualExcessMs;
    const marginMs = Math.min(excessMs + slackMs, this.capMs);
    const capMs = this.capMs + CAP_GAIN * (this.allowanceMs - marginMs);
    this.capMs = Math.min(this.allowanceMs * CAP_RISE, Math.max(this.allowanceMs, capMs));
    if (call.wheel !== this.wheel || call.leavesMs <= this.sweptMs) return; // it has left, or the clock was set back
    this.wheel[call.leavesMs % this.wheel.length]! -= 1;
    this.put(call, call.sentMs + this.windowMs + marginMs);
  }

  private put(call: CountedCall, leavesMs: number): void {
    // Whole milliseconds, rounded to the safe side; what should have left already leaves with the next one.
    call.leavesMs = Math.max(Math.ceil(leavesMs), this.sweptMs + 1);
    call.wheel = this.wheel;
    assert(call.leavesMs - this.sweptMs <= this.wheel.length, 'a call leaves beyond the wheel');
    this.wheel[call.leavesMs % this.wheel.length]! += 1;
  }

  private learn(tookMs: number): void {
    this.fastestMs = Math.min(this.fastestMs, tookMs);
    this.answers += 1;
    if (this.answers < FASTEST_OF) return;
    this.fastestBeforeMs = this.fastestMs;
    this.fastestMs = Number.POSITIVE_INFINITY;
    this.answers = 0;
  }

  /** Takes off the wheel what has left by now. */
  private sweep(nowMs: number): void {
    const untilMs = Math.floor(nowMs);
    const { length } = this.wheel;
    // A little is only waited for: what was sent by the earlier clock counts longer than it would have to.
    if (untilMs < this.sweptMs && untilMs >= this.sweptMs - this.windowMs) return;
    if (untilMs < this.sweptMs) this.startAgain(untilMs);
    if (untilMs - this.sweptMs >= length) {
      this.counted = this.unsent;
      this.wheel.fill(0);
    } else if (this.counted > this.unsent)
      for (let ms = this.sweptMs + 1; ms <= untilMs; ms++) {
        this.counted -= this.wheel[ms % length]!;
        this.wheel[ms % length] = 0;
      }
    this.sweptMs = untilMs;
  }

  /** The clock was set back by more than a window: every call on the wheel counts as sent just now, on a new wheel. */
  private startAgain(nowMs: number): void {
    this.wheel = new Int32Array(this.wheel.length);
    this.sweptMs = nowMs;
    const leavesMs = Math.ceil(nowMs + this.windowMs + this.capMs);
    this.wheel[leavesMs % this.wheel.length] = this.counted - this.unsent;
  }
}
