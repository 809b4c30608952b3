/** kill -9 of whoever writes the inbox, at any moment: what was answered is there, once and in order. */
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { readSegment, sealedSegments, sealOrphans } from '../../../src/extract/inbox.ts';
import { endOf } from './killed-night.ts';

interface Stop {
  /** Number of the first delivery. */
  readonly first: number;
  /** Killed when so many were answered. */
  readonly answers: number;
  readonly atOnce: number;
  readonly segmentBytes: number;
}

/** Lets a child append until it is killed; returns the numbers that were answered, in the order of the answers. */
async function answeredBefore(folder: string, { first, answers, atOnce, segmentBytes }: Stop): Promise<number[]> {
  const script = path.join(import.meta.dirname, 'inbox-child.mjs');
  const args = [script, inject('build'), folder, ...[first, atOnce, segmentBytes].map(String)];
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

/** The numbers of all deliveries that are ready, in order. */
async function numbersIn(folder: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const { file } of await sealedSegments(folder))
    for await (const { body } of readSegment(createReadStream(file), file))
      numbers.push(Number.parseInt(Buffer.from(body).toString(), 10));
  return numbers;
}

/** Numbers that look random and are the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

async function emptyFolder(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'etl-inbox-crash-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return path.join(home, 'inbox');
}

describe('killed', () => {
  it.each([
    ['one by one', 1, 1, 2_000, 60],
    ['many at once, in small segments', 2, 64, 64_000, 4000],
    ['many at once, in one segment', 3, 256, 32_000_000, 4000],
  ])(
    'again and again while it writes %s: nothing answered is lost, nothing stands twice',
    async (_, seed, atOnce, segmentBytes, most) => {
      const folder = await emptyFolder();
      const random = seeded(seed);
      const expected: number[] = [];
      for (let round = 0; round < 4; round++) {
        const before = await numbersIn(folder);
        const first = 1_000_000 * (round + 1);
        const answers = 1 + random(most);
        const answered = await answeredBefore(folder, { first, answers, atOnce, segmentBytes });
        expect(answered.length).toBeGreaterThanOrEqual(answers);

        expect((await sealOrphans(folder)).torn).toEqual([]);
        const all = await numbersIn(folder);
        expect(all.slice(0, before.length)).toEqual(before);
        const there = all.slice(before.length);
        expect(there).toEqual(there.map((_, i) => first + i)); // no gap, in order
        const isThere = new Set(there);
        expect(answered.filter((number) => !isThere.has(number))).toEqual([]);
        expect(there.length - answered.length).toBeLessThanOrEqual(atOnce);
        expected.push(...there);
      }
      expect(await sealOrphans(folder)).toEqual({ sealed: 0, torn: [] });
      expect(await numbersIn(folder)).toEqual(expected);
    },
  );
});
