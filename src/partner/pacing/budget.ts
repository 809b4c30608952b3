/**
 * The budget of one endpoint, which all processes of the installation share: so many calls in ANY window of `perSeconds`, not only
 * on average, and none before the instant that the service named.
 *
 * Every process has its calls in the budget's row, each with the instant at which it no longer counts. `take` is one short
 * transaction: it reads what the others have, and adds calls of ours where there is room for them. So there are never more calls
 * in the row than allowed, whoever is killed when. A process changes nothing but its own calls. That an answer has made one of
 * them leave earlier (margin.ts) is written with the next `take`, or by `publish` when nothing is to be done; a process that was
 * killed leaves calls in the row that count for LATE_MS longer at the most.
 *
 * Where several want calls of a short budget, each may have an equal part, and what the others do not want: a look-up by hand waits
 * for a second or two and not for the night, and costs the night no more than its own calls. Whoever was not seen for LAPSE_MS
 * wants nothing. Longer budgets go to who comes first.
 */
import type { Clock } from '../../core/clock.ts';
import { newId } from '../../core/ids.ts';
import type { WaitReason } from '../../core/progress.ts';
import type { State } from '../../store/state.ts';
import { type Asker, type Budget, changeBudget } from '../../store/tables/budget.ts';
import type { EndpointBudget } from '../settings.ts';
import { LONG_FROM_SECONDS, Margin } from './margin.ts';

/** However long the service wants us to wait, somebody who waits looks again after this. */
export const LONGEST_HOLD_MS = 3_600_000;
/** Shorter holds are over before another process has read of them. */
const SHORTEST_SHARED_HOLD_MS = 2_000;
/** As long after it was taken a call may be written into its connection, by a process that is killed before it says so. */
const LATE_MS = 10_000;
/** How often one who waits beside others looks what they have left. */
const LOOK_MS = 500;
const LAPSE_MS = 1_500;
/** What cannot be divided goes from one to the next as often as this. */
const ROTATION_MS = 5_000;

/** A call that counts until its window has passed. */
export interface CountedCall {
  /** null until it is written. */
  sentMs: number | null;
  /** When it no longer counts; Infinity until it is written. */
  leavesMs: number;
}

export class SharedBudget {
  heldUntilMs = 0;
  heldWhy: WaitReason = 'another';
  private readonly id: string;
  private readonly endpoint: string;
  private readonly state: State;
  private readonly clock: Clock;
  private readonly own = new Set<CountedCall>();
  /** The other processes, as of the last look; null before it. */
  private others: readonly Asker[] | null = null;
  private lookedMs = 0;
  private limits: EndpointBudget | null = null;
  private margin = new Margin(1);
  /** What the row has of our calls may leave later than they do. */
  private isStale = false;

  constructor(endpoint: string, state: State, clock: Clock) {
    this.id = newId('c', clock);
    this.endpoint = endpoint;
    this.state = state;
    this.clock = clock;
  }

  /** Counts up to `want` calls now, as many as there is room for. `waiting` calls want to be made. Errors: those of the database. */
  async take(limits: EndpointBudget, want: number, waiting: number): Promise<CountedCall[]> {
    this.limit(limits);
    const taken: CountedCall[] = [];
    try {
      await changeBudget(this.state, this.row, (found) => {
        this.look(found);
        const room = this.heldUntilMs > this.clock.now() ? 0 : Math.min(want, this.room());
        for (let i = 0; i < room; i++) taken.push({ sentMs: null, leavesMs: Number.POSITIVE_INFINITY });
        for (const call of taken) this.own.add(call);
        return this.written(waiting - taken.length);
      });
    } catch (error) {
      for (const call of taken) this.own.delete(call);
      throw error;
    }
    return taken;
  }

  /** Of a call that was taken and will not be made. */
  giveBack(call: CountedCall): void {
    this.own.delete(call);
    this.isStale = true;
  }

  /** Milliseconds until there may be room, as far as is known here; 0: take shows; Infinity while it hangs on calls that are not written. */
  waitMs(limits: EndpointBudget): number {
    this.limit(limits);
    const nowMs = this.clock.now();
    if (this.heldUntilMs > nowMs) return this.heldUntilMs - nowMs;
    if (this.others === null) return 0;
    this.sweep();
    const ours = [...this.own].map(({ leavesMs }) => leavesMs);
    const all = [...ours, ...this.othersMs()];
    const freeMs = Math.max(whenBelow(limits.calls, all, nowMs), whenBelow(this.allowed(), ours, nowMs)) - nowMs;
    if (this.isLong || this.others.length === 0) return freeMs;
    // What the others have and want changes without our knowing, and they must see that we wait.
    return Math.max(0, Math.min(freeMs, this.lookedMs + LOOK_MS - nowMs));
  }

  /** Calls that there is room for now; null before the first look. */
  left(limits: EndpointBudget): number | null {
    if (this.heldUntilMs > this.clock.now()) return 0;
    if (this.others === null) return null;
    this.limit(limits);
    this.sweep();
    return this.room();
  }

  /** Holds every call of the endpoint back until an instant (epoch milliseconds), of all processes where that is worth telling. */
  async hold(untilMs: number, why: WaitReason): Promise<void> {
    const nowMs = this.clock.now();
    const cappedMs = Math.min(untilMs, nowMs + LONGEST_HOLD_MS);
    if (cappedMs <= Math.max(nowMs, this.heldUntilMs)) return;
    this.heldUntilMs = cappedMs;
    this.heldWhy = why;
    if (cappedMs - nowMs < SHORTEST_SHARED_HOLD_MS) return;
    await changeBudget(this.state, { endpoint: this.endpoint, isSynced: true }, (found) => ({
      ...found,
      heldUntilMs: Math.max(found.heldUntilMs, cappedMs),
    }));
  }

  /** The request is written, or will never be. */
  sent(call: CountedCall): void {
    if (call.sentMs !== null) return;
    call.sentMs = this.clock.now();
    this.leave(call, this.margin.unansweredMs);
  }

  /** The answer has begun. */
  answered(call: CountedCall): void {
    if (call.sentMs === null) return;
    const tookMs = this.clock.now() - call.sentMs;
    if (tookMs < 0) return; // the clock was set back in between
    this.leave(call, this.margin.answeredMs(tookMs));
  }

  /** Tells the others when our calls leave, where no `take` will. */
  async publish(): Promise<void> {
    if (!this.isStale) return;
    await changeBudget(this.state, this.row, (found) => {
      this.look(found);
      return this.written(0);
    });
  }

  private get isLong(): boolean {
    return this.limits !== null && this.limits.perSeconds >= LONG_FROM_SECONDS;
  }

  private get row() {
    return { endpoint: this.endpoint, isSynced: this.isLong };
  }

  private get windowMs(): number {
    return (this.limits?.perSeconds ?? 0) * 1000;
  }

  private limit(limits: EndpointBudget): void {
    if (this.limits?.perSeconds !== limits.perSeconds) this.margin = new Margin(limits.perSeconds);
    this.limits = limits;
  }

  private leave(call: CountedCall, marginMs: number): void {
    call.leavesMs = Math.ceil(call.sentMs! + this.windowMs + marginMs);
    this.isStale = true;
  }

  private look({ heldUntilMs, askers }: Budget): void {
    const nowMs = this.clock.now();
    this.sweep();
    const others: Asker[] = [];
    for (const asker of askers) {
      if (asker.id === this.id) continue;
      const leavesMs = asker.leavesMs.filter((ms) => ms > nowMs).map((ms) => this.notAhead(ms, nowMs));
      const demand = Math.abs(nowMs - asker.seenMs) < LAPSE_MS ? asker.demand : 0;
      if (demand > 0 || leavesMs.length > 0) others.push({ ...asker, demand, leavesMs });
    }
    this.others = others;
    this.lookedMs = nowMs;
    const untilMs = Math.min(heldUntilMs, nowMs + LONGEST_HOLD_MS);
    if (untilMs <= this.heldUntilMs) return;
    this.heldUntilMs = untilMs;
    this.heldWhy = 'another';
  }

  /** The row as it is to be. A call that is not written may be so at any time, so it counts from now. */
  private written(waiting: number): Budget {
    const nowMs = this.clock.now();
    const unsentMs = nowMs + LATE_MS + this.windowMs;
    const leavesMs = [...this.own].map((call) => (call.sentMs === null ? unsentMs : call.leavesMs));
    const demand = this.isLong || waiting === 0 ? 0 : this.own.size + waiting;
    const us = { id: this.id, seenMs: nowMs, demand, leavesMs };
    const isThere = demand > 0 || leavesMs.length > 0;
    this.isStale = false;
    return {
      heldUntilMs: this.heldUntilMs > nowMs ? this.heldUntilMs : 0,
      askers: [...this.others!, ...(isThere ? [us] : [])],
    };
  }

  private sweep(): void {
    const nowMs = this.clock.now();
    for (const call of this.own) {
      if (call.sentMs !== null) call.leavesMs = this.notAhead(call.leavesMs, nowMs);
      if (call.leavesMs <= nowMs) this.own.delete(call);
    }
  }

  /** A call of the future was made before the clock was set back: it counts as made just now. */
  private notAhead(leavesMs: number, nowMs: number): number {
    const isAhead = leavesMs > nowMs + this.windowMs + LATE_MS;
    return isAhead ? nowMs + this.windowMs + Math.ceil(this.margin.unansweredMs) : leavesMs;
  }

  private room(): number {
    return Math.max(0, Math.min(this.limits!.calls - this.othersMs().length, this.allowed()) - this.own.size);
  }

  /** When calls of the others leave that count still. */
  private othersMs(): number[] {
    const nowMs = this.clock.now();
    return this.others!.flatMap(({ leavesMs }) => leavesMs.filter((ms) => ms > nowMs));
  }

  /** How many calls we may have in the window: our part, and what the others do not want of theirs. */
  private allowed(): number {
    const { calls } = this.limits!;
    const wanting = this.others!.filter(({ demand }) => demand > 0);
    const ids = [this.id, ...wanting.map(({ id }) => id)].sort();
    const turned = Math.floor(this.clock.now() / ROTATION_MS);
    const partOf = (id: string) => {
      const place = (ids.indexOf(id) + turned) % ids.length;
      return Math.floor(calls / ids.length) + (place < calls % ids.length ? 1 : 0);
    };
    return calls - wanting.reduce((sum, { id, demand }) => sum + Math.min(demand, partOf(id)), 0);
  }
}

/** When fewer than so many of the calls count; now where that is so already. */
function whenBelow(most: number, leavesMs: readonly number[], nowMs: number): number {
  const over = leavesMs.length - most + 1;
  if (over <= 0) return nowMs;
  return leavesMs.toSorted((a, b) => a - b)[over - 1] ?? Number.POSITIVE_INFINITY;
}
