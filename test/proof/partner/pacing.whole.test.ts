/** A short budget between processes that know of each other through the state alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../../support/postgres-database.ts';

const CALLS = 20;

/** A process that makes so many calls; `times` fills while it does. */
class Caller {
  readonly times: number[] = [];
  readonly ended: Promise<unknown>;
  private readonly process: ChildProcess;
  private readonly begun: Promise<unknown>;

  constructor(state: string, count: number) {
    const script = path.join(import.meta.dirname, 'pacing-child.mjs');
    const args = [script, inject('build'), state, String(count), String(CALLS)];
    this.process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: this.process.stdout! });
    lines.on('line', (line) => this.times.push(Number(line)));
    this.begun = once(lines, 'line');
    this.ended = Promise.all([once(this.process, 'exit'), once(lines, 'close')]);
  }

  /** Resolves with its first call. */
  async hasBegun(): Promise<void> {
    await this.begun;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}

async function inFile(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'partner-etl-pacing-'));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  return path.join(home, 'state.db');
}

async function inPostgres(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

/** The most calls in any window of a second. */
function mostIn(callers: readonly Caller[]): number {
  const all = callers.flatMap(({ times }) => times).sort((a, b) => a - b);
  return Math.max(...all.map((from) => all.filter((ms) => ms >= from && ms < from + 1000).length));
}

test('is not exceeded by ten processes whose state is in Postgres', async () => {
  const state = await inPostgres();
  const callers = Array.from({ length: 10 }, () => new Caller(state, 12));
  await Promise.all(callers.map(({ ended }) => ended));
  expect(callers.map(({ times }) => times.length)).toEqual(callers.map(() => 12));
  expect(mostIn(callers)).toBeLessThanOrEqual(CALLS);
});

test.each([
  ['a file', inFile],
  ['Postgres', inPostgres],
])(
  'is not exceeded by three processes, of which one comes later and one is killed: the state in %s',
  async (_, place) => {
    const home = await place();
    const first = new Caller(home, 100);
    await first.hasBegun();
    const victim = new Caller(home, 10_000);
    await victim.hasBegun();
    const last = new Caller(home, 30);
    await last.hasBegun();
    victim.kill();
    await Promise.all([first.ended, victim.ended, last.ended]);

    expect([first.times.length, last.times.length]).toEqual([100, 30]);
    expect(mostIn([first, victim, last])).toBeLessThanOrEqual(CALLS);
  },
);
