import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Pacing } from '../../src/partner/pacing.ts';
import type { EndpointBudget } from '../../src/partner/settings.ts';
import { Scene } from './scene.ts';

const ten: EndpointBudget = { calls: 10, perSeconds: 1, concurrency: 8, isShared: true };
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
    const { home, clock, log } = scene;
    const pacing = new Pacing({ home, clock, log });
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

/** Lets time pass, standing still while a file is being read or written. */
async function pass(seconds: number): Promise<void> {
  for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
    await scene.clock.advance(STEP_MS);
    do await new Promise((resolve) => setImmediate(resolve));
    while (process.getActiveResourcesInfo().some((name) => /^(?:FSReq|CloseReq)/.test(name)));
  }
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
    const one = { calls: 1, perSeconds: 1, concurrency: 1, isShared: true };
    const three = [new Worker(one), new Worker(one), new Worker(one)];
    await pass(60);
    expect(mostInSecond()).toBe(1);
    for (const { sent } of three) expect(sent.length).toBeGreaterThan(5);
  });

  test('is left alone for some seconds where somebody’s claim cannot be read', async () => {
    const file = await claim('garbage', begunMs);
    const worker = new Worker();
    await pass(3);
    expect(worker.sent).toEqual([]);
    await pass(2);
    expect(worker.sent.length).toBeGreaterThan(9);
    expect(await readdir(path.dirname(file))).toHaveLength(2);
  });

  test('is not held back by a claim of the future, when the clock was set back since', async () => {
    await claim('{"version":1,"pid":1,"claim":10}', begunMs + 3_600_000);
    const worker = new Worker();
    await pass(1);
    expect(worker.sent.length).toBe(10);
  });

  test('leaves no files of the dead behind for long', async () => {
    const file = await claim('{"version":1,"pid":1,"claim":10}', begunMs - 3_600_000);
    new Worker();
    await pass(1);
    expect(await readdir(path.dirname(file))).not.toContain(path.basename(file));
  });

  test('begins again where its own file was taken away', async () => {
    const worker = new Worker();
    await pass(2);
    const folder = path.join(scene.home.state, 'share-things');
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), 0, 0);
    const second = new Worker(); // finds the file dead, and buries it
    await pass(6);
    expect(mostInSecond()).toBeLessThanOrEqual(20);
    for (const one of [worker, second]) expect(one.between(5, 8)).toBeGreaterThan(12);
  });

  async function claim(text: string, atMs: number): Promise<string> {
    const folder = path.join(scene.home.state, 'share-things');
    await mkdir(folder, { recursive: true });
    const file = path.join(folder, '1-00000000.json');
    await writeFile(file, text);
    await utimes(file, atMs / 1000, atMs / 1000);
    return file;
  }
});

test('a budget that is not shared leaves no file', async () => {
  const { isShared: _, ...own } = ten;
  const worker = new Worker(own);
  await pass(1);
  expect(worker.sent).toHaveLength(10);
  expect(await readdir(scene.home.root)).toEqual([]);
});
