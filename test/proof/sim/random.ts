/** Numbers that follow from a seed. A part of a scenario has a generator of its own, so that parts do not shift each other. */

export class Random {
  private state: number;

  constructor(seed: number, part = '') {
    let hash = (seed ^ 0x9e3779b9) >>> 0;
    for (const letter of part) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0;
    this.state = hash;
    for (let i = 0; i < 4; i++) this.next();
  }

  /** Evenly from [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!;
  }

  /** From `from` to `to`, small numbers as often as large ones are many. */
  spread(from: number, to: number): number {
    return Math.min(to, Math.floor(from * (to / from) ** this.next()));
  }

  /** Bytes as `crypto.randomBytes` would give them. */
  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.int(0, 255)));
  }
}
