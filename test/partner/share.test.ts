import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Pacing } from '../../src/partner/pacing/pacing.ts';
import type { EndpointBudget } from '../../src/partner/settings.ts';
import { type Asker, type Budget, changeBudget } from '../../src/store/tables/budget.ts';
import { Scene } from './scene.ts';

const ten: EndpointBudget = { calls: 10, perSeconds: 1, concurrency: 8 };
const STEP_MS = 10;

let scene: Scene;
let begunMs: number;
let working: Worker[];
beforeEach(async () => {
  scene = await Scene.open();
  scene.clock.passUpTo(0);
  begunMs = scene.clock.now();
  working = [];
});
afterEach(async () => {
  for (const worker of working) worker.stop();
  await scene.close();
});

/** Makes calls of 50 ms one after the other, eight at once, until it is stopped. */
class Worker {
  /** When calls were sent, in milliseconds since the test began. */
  readonly sent: number[] = [];
  private readonly stopped = new AbortController();
  private paused: Promise<void> | null = null;

  constructor(budget = ten) {
    const { state, clock, log } = scene;
    const pacing = new Pacing({ state, clock, log });
    const call = async () => {
      await this.paused;
      const turn = await pacing.turn('things', budget, { signal: this.stopped.signal });
      turn.sent();
      this.sent.push(clock.now() - begunMs);
      await clock.sleep(50);
      turn.answered();
      turn.done();
    };
    const line = async () => {
      for (;;) await call();
    };
    for (let i = 0; i < budget.concurrency; i++) line().catch(() => undefined);
    working.push(this);
  }

  stop(): void {
    this.stopped.abort();
  }

  /** No further calls until what it returns is called. */
  pause(): () => void {
    const gate = new AbortController();
    this.paused = new Promise((resolve) => {
      gate.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return () => gate.abort();
  }

  /** Calls sent from one second to another. */
  between(from: number, to: number): number {
    return this.sent.filter((ms) => ms >= from * 1000 && ms < to * 1000).length;
  }
}

async function pass(seconds: number): Promise<void> {
  for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) await scene.clock.advance(STEP_MS);
}

/** The most calls of all workers in any second. */
function mostInSecond(): number {
  const times = working.flatMap(({ sent }) => sent).sort((a, b) => a - b);
  return Math.max(...times.map((from) => times.filter((ms) => ms >= from && ms < from + 1000).length));
}

describe('a short budget that is shared', () => {
  test('belongs whole to a process that is alone', async () => {
    const alone = new Worker();
    await pass(5);
    expect(alone.between(0, 1)).toBe(10);
    expect(alone.between(0, 5)).toBeGreaterThan(46);
    expect(mostInSecond()).toBe(10);
  });

  test('is divided when another one comes, and whole again when that one has ended', async () => {
    const first = new Worker();
    await pass(3);
    const second = new Worker();
    await pass(7);
    second.stop();
    await pass(10);
    expect(mostInSecond()).toBe(10);
    expect(second.between(3, 6)).toBeGreaterThan(0);
    for (const one of [first, second]) expect([19, 20]).toContain(one.between(6, 10));
    expect(first.between(14, 20)).toBeGreaterThan(57);
  });

  test('is never exceeded by three that begin at once', async () => {
    const three = [new Worker(), new Worker(), new Worker()];
    await pass(10);
    expect(mostInSecond()).toBe(10);
    for (const one of three) expect(one.between(5, 10)).toBeGreaterThan(13);
  });

  test('is not exceeded by one who stood still for so long that the others took his part', async () => {
    const [still, other] = [new Worker(), new Worker()];
    await pass(5);
    for (const seconds of [1, 2, 3, 4, 6]) {
      const resume = still.pause();
      await pass(seconds);
      resume();
      await pass(4);
    }
    expect(mostInSecond()).toBe(10);
    expect(other.between(39, 41)).toBeGreaterThan(8);
    expect(still.between(39, 41)).toBeGreaterThan(8);
  });

  test('wanders from one to the next where it has fewer calls than there are processes', async () => {
    const one = { calls: 1, perSeconds: 1, concurrency: 1 };
    const three = [new Worker(one), new Worker(one), new Worker(one)];
    await pass(60);
    expect(mostInSecond()).toBe(1);
    for (const { sent } of three) expect(sent.length).toBeGreaterThan(5);
  });

  test('is not held back for long by one that was killed before it could say what became of its calls', async () => {
    const leavesMs = Array<number>(10).fill(begunMs + 11_000);
    await tell({ id: 'killed', seenMs: begunMs, demand: 30, leavesMs });
    const worker = new Worker();
    await pass(10);
    expect(worker.sent).toEqual([]);
    await pass(2);
    expect(worker.sent.length).toBeGreaterThanOrEqual(10);
  });

  test('is not held back by a call of the future, when the clock was set back since', async () => {
    const aheadMs = begunMs + 3_600_000;
    await tell({ id: 'other', seenMs: aheadMs, demand: 10, leavesMs: Array<number>(10).fill(aheadMs) });
    const worker = new Worker();
    await pass(2);
    expect(worker.sent.length).toBe(10);
  });

  test('keeps nothing of the dead', async () => {
    await tell({ id: 'dead', seenMs: begunMs - 60_000, demand: 10, leavesMs: [begunMs - 50_000] });
    new Worker();
    await pass(1);
    const { askers } = await told();
    expect(askers.map(({ id }) => id)).not.toContain('dead');
  });

  test('of one that has nothing to do says when its last calls leave, and that it wants none', async () => {
    const by = new Pacing({ state: scene.state, clock: scene.clock, log: scene.log });
    const turn = await by.turn('things', ten);
    turn.sent();
    turn.answered();
    turn.done();
    await by.close();
    const { askers } = await told();
    expect(askers).toMatchObject([{ demand: 0, leavesMs: [expect.any(Number)] }]);
    expect(askers[0]!.leavesMs[0]! - begunMs).toBeLessThan(1300);
  });

  async function tell(asker: Asker): Promise<void> {
    await changeBudget(scene.state, { endpoint: 'things', isSynced: false }, () => ({
      heldUntilMs: 0,
      askers: [asker],
    }));
  }

  async function told(): Promise<Budget> {
    let budget: Budget | null = null;
    await changeBudget(scene.state, { endpoint: 'things', isSynced: false }, (found) => {
      budget = found;
      return found;
    });
    return budget!;
  }
});
