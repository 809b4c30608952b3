/**
 * The simulated time, in a file of eight bytes that the service (here) and the program (in its processes) read and write: so a time
 * that has come stays when a process is killed, and several processes live in the same time.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

export class ClockFile {
  private readonly descriptor: number;
  private readonly bytes = Buffer.alloc(8);

  constructor(file: string) {
    this.descriptor = openSync(file, 'a+') && openSync(file, 'r+');
  }

  now(): number {
    readSync(this.descriptor, this.bytes, 0, 8, 0);
    return this.bytes.readDoubleBE();
  }

  set(ms: number): void {
    this.bytes.writeDoubleBE(ms);
    writeSync(this.descriptor, this.bytes, 0, 8, 0);
  }

  /** Time does not go back. */
  reach(ms: number): void {
    if (ms > this.now()) this.set(ms);
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
