/** kill -9 of whoever writes the inbox, at any moment: what was answered is there, once and in order. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { proveSqliteFile } from '../../../src/store/sqlite/state.ts';
import { waitingAt } from '../../support/inbox.ts';
import { endOf } from './killed-night.ts';

interface Stop {
  /** Number of the first delivery. */
  readonly first: number;
  /** Killed when so many were answered. */
  readonly answers: number;
  readonly atOnce: number;
}

/** Lets a child append until it is killed; returns the numbers that were answered, in the order of the answers. */
async function answeredBefore(home: string, { first, answers, atOnce }: Stop): Promise<number[]> {
  const script = path.join(import.meta.dirname, 'inbox-child.mjs');
  const args = [script, inject('build'), home, ...[first, atOnce].map(String)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = endOf(child);
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.split('\n').length > answers) child.kill('SIGKILL');
  }
  expect(await end).toBe('SIGKILL');
  // What stands behind the last line break was cut off by the kill.
  return text.split('\n').slice(0, -1).map(Number);
}

/** The numbers of all deliveries that wait, in order. */
async function numbersIn(home: string): Promise<number[]> {
  return (await waitingAt(home)).map(({ body }) => Number.parseInt(Buffer.from(body).toString(), 10));
}

/** Numbers that look random and are the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

async function emptyHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-inbox-crash-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

describe('killed', () => {
  it.each([
    ['one by one', 1, 1, 60],
    ['64 at once', 2, 64, 4000],
    ['256 at once', 3, 256, 4000],
  ])(
    'again and again while it writes %s: nothing answered is lost, nothing stands twice',
    async (_, seed, atOnce, most) => {
      const home = await emptyHome();
      const random = seeded(seed);
      for (let round = 0; round < 4; round++) {
        const before = await numbersIn(home);
        const first = 1_000_000 * (round + 1);
        const answers = 1 + random(most);
        const answered = await answeredBefore(home, { first, answers, atOnce });
        expect(answered.length).toBeGreaterThanOrEqual(answers);
        const all = await numbersIn(home);
        expect(all.slice(0, before.length)).toEqual(before);
        const there = all.slice(before.length);
        expect(there).toEqual(there.map((_, i) => first + i)); // no gap, in order
        const isThere = new Set(there);
        expect(answered.filter((number) => !isThere.has(number))).toEqual([]);
        expect(there.length - answered.length).toBeLessThanOrEqual(atOnce);
      }
      proveSqliteFile(path.join(home, 'state.db'));
    },
  );
});
