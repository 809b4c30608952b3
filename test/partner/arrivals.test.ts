import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Pacing } from '../../src/partner/pacing/pacing.ts';
import type { EndpointBudget } from '../../src/partner/settings.ts';
import { Scene } from './scene.ts';

const commission: EndpointBudget = { calls: 28, perSeconds: 1, concurrency: 16 };

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

/** Numbers from [0, 1), always the same ones (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A network and a service: milliseconds that a request, its answer's making and the answer take. */
interface Way {
  readonly there: (random: () => number) => number;
  readonly work: (random: () => number) => number;
  readonly back: (random: () => number) => number;
}

/** When the calls arrive at a service that never refuses one, in order. */
async function arrivals(count: number, budget: EndpointBudget, way: Way, seed: number): Promise<number[]> {
  const { state, clock, log } = scene;
  const pacing = new Pacing({ state, clock, log });
  const random = dice(seed);
  const times: number[] = [];
  const call = async () => {
    const turn = await pacing.turn('things', budget);
    turn.sent();
    await clock.sleep(way.there(random));
    times.push(clock.now());
    await clock.sleep(way.work(random) + way.back(random));
    turn.answered();
    turn.done();
  };
  await Promise.all(Array.from({ length: count }, call));
  return times.sort((a, b) => a - b);
}

/** Calls that a service refuses which allows `calls` in any window of so many milliseconds, refused ones counted as well. */
function refusedIn(times: readonly number[], calls: number, windowMs: number): number {
  return times.filter((ms, i) => i >= calls && ms - times[i - calls]! < windowMs).length;
}

/** How much of what the service allows was used, from the first call to one that is a number of whole windows later. */
function usedIn(times: readonly number[], calls: number, windowMs: number): number {
  const windows = Math.floor((times.length - 1) / calls);
  return (windows * windowMs) / (times[windows * calls]! - times[0]!);
}

const evenly = (from: number, to: number) => (random: () => number) => from + (to - from) * random();
/** Mostly `usual` with a little jitter, but now and then a request is sent twice. */
const stumbling = (usual: number, lateMs: number) => (random: () => number) =>
  usual + (random() < 0.01 ? lateMs : -Math.log(1 - random()) * 3);

describe('28 calls a second at a service that counts every window strictly', () => {
  test.each<[string, Way, number]>([
    ['an even way', { there: () => 20, work: () => 80, back: () => 20 }, 0.99],
    ['jitter of 20 ms', { there: evenly(10, 30), work: () => 60, back: evenly(10, 30) }, 0.97],
    ['requests that come 200 ms late', { there: stumbling(15, 200), work: () => 60, back: () => 15 }, 0.97],
    ['answers of very different length', { there: evenly(10, 30), work: evenly(30, 330), back: evenly(10, 30) }, 0.97],
    ['a service on the same machine', { there: evenly(0, 1), work: evenly(1, 9), back: evenly(0, 1) }, 0.985],
  ])('over %s none is refused, and more than 95 in a hundred are made', async (_, way, least) => {
    const times = await arrivals(900, commission, way, 4711);
    expect(refusedIn(times, 28, 1000)).toBe(0);
    expect(usedIn(times, 28, 1000)).toBeGreaterThan(least);
  });

  test('a way that has become longer is learnt', async () => {
    let made = 0;
    const work = () => {
      made += 1;
      return made < 500 ? 20 : 300;
    };
    const times = await arrivals(3000, commission, { there: () => 10, work, back: () => 10 }, 4711);
    expect(usedIn(times.slice(2000), 28, 1000)).toBeGreaterThan(0.98);
  });
});
