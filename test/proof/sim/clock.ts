/**
 * The simulated time, in a file that the service (here) and the program (in its processes) read and write: so a time that has come
 * stays when a process is killed, and several processes live in the same time. Each writer has eight bytes of its own, and the time is
 * the latest of them: with one place for all, whoever had read before another wrote would turn the time back.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** Who may write at the same time: the service, and the processes by the first letter of their order's part. */
const WRITERS = ['service', 'a', 'b', 'q', 'r'] as const;
export type Writer = (typeof WRITERS)[number];
const SIZE = Float64Array.BYTES_PER_ELEMENT;

export class ClockFile {
  private readonly descriptor: number;
  private readonly times = new Float64Array(WRITERS.length);
  private readonly own: number;

  constructor(file: string, writer: Writer) {
    closeSync(openSync(file, 'a'));
    this.descriptor = openSync(file, 'r+');
    this.own = WRITERS.indexOf(writer);
  }

  now(): number {
    readSync(this.descriptor, this.times, 0, this.times.byteLength, 0);
    return Math.max(...this.times);
  }

  /** Time does not go back. */
  reach(ms: number): void {
    if (ms > this.now()) writeSync(this.descriptor, Float64Array.of(ms), 0, SIZE, this.own * SIZE);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** Sleeps of at most `longestMs` pass by themselves when nothing else can be done at once; longer ones (timeouts) never do. */
export class SimulatedClock {
  private readonly file: ClockFile;
  private readonly longestMs: number;
  private sleepers: Sleeper[] = [];

  constructor(file: ClockFile, longestMs: number) {
    this.file = file;
    this.longestMs = longestMs;
  }

  now(): number {
    return this.file.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const sleeper: Sleeper = { dueMs: this.now() + Math.max(0, ms), wake };
      signal?.addEventListener('abort', stop, { once: true });
      if (ms > this.longestMs) return;
      this.sleepers.push(sleeper);
      setImmediate(() => this.passOne());
    });
  }

  private passOne(): void {
    const next = [...this.sleepers].sort((a, b) => a.dueMs - b.dueMs)[0];
    if (!next) return;
    this.sleepers = this.sleepers.filter((other) => other !== next);
    this.file.reach(next.dueMs);
    next.wake();
  }
}
