/**
 * How long a call counts beyond its window, so that the service never sees more calls than are allowed.
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
 */

/** From here on a fixed margin costs nothing that counts. */
export const LONG_FROM_SECONDS = 60;
const LONG_MARGIN_MS = 10_000;
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

export class Margin {
  private readonly allowanceMs: number;
  private readonly isLong: boolean;
  private capMs: number;
  private fastestMs = Number.POSITIVE_INFINITY;
  private fastestBeforeMs = Number.POSITIVE_INFINITY;
  private answers = 0;
  private usualExcessMs = 0;

  constructor(perSeconds: number) {
    this.isLong = perSeconds >= LONG_FROM_SECONDS;
    this.allowanceMs = Math.min(LONGEST_ALLOWANCE_MS, perSeconds * 1000 * ALLOWANCE);
    this.capMs = this.isLong ? LONG_MARGIN_MS : this.allowanceMs * CAP_RISE;
  }

  /** Of a call whose answer has not begun. */
  get unansweredMs(): number {
    return this.capMs;
  }

  /** Of a call whose answer took so long to begin. */
  answeredMs(tookMs: number): number {
    if (this.isLong) return this.capMs;
    this.learn(tookMs);
    const known = this.answers + (this.fastestBeforeMs === Number.POSITIVE_INFINITY ? 0 : FASTEST_OF);
    const excessMs = tookMs - Math.min(this.fastestMs, this.fastestBeforeMs);
    this.usualExcessMs += USUAL_GAIN * (excessMs - this.usualExcessMs);
    const slackMs = this.allowanceMs * (SLACK_PART + IGNORANCE_PART / known) + SPREAD_PART * this.usualExcessMs;
    const marginMs = Math.min(excessMs + slackMs, this.capMs);
    const capMs = this.capMs + CAP_GAIN * (this.allowanceMs - marginMs);
    this.capMs = Math.min(this.allowanceMs * CAP_RISE, Math.max(this.allowanceMs, capMs));
    return marginMs;
  }

  private learn(tookMs: number): void {
    this.fastestMs = Math.min(this.fastestMs, tookMs);
    this.answers += 1;
    if (this.answers < FASTEST_OF) return;
    this.fastestBeforeMs = this.fastestMs;
    this.fastestMs = Number.POSITIVE_INFINITY;
    this.answers = 0;
  }
}
