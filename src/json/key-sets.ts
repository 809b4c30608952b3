/** Keys met in the objects that are open: finds a key that comes twice in one object. */
import { Buffer } from 'node:buffer';
import { ByteBuffer } from './byte-buffer.ts';

/**
 * Objects of up to so many keys are compared hash by hash; larger ones get a Set. The hash below can be made to collide on
 * purpose, the engine's own hash of strings cannot, so no answer makes this quadratic.
 */
const COMPARED_KEYS = 64;

/** FNV-1a, 32 bits. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash;
}

export function sameBytes(a: Uint8Array, from: number, to: number, b: Uint8Array, bFrom: number): boolean {
  for (let i = from, j = bFrom; i < to; i++, j++) if (a[i] !== b[j]) return false;
  return true;
}

/** A stack of key sets, one for each open object. Keys are given decoded. */
export class KeySets {
  private readonly text = new ByteBuffer(1024);
  private hashes = new Int32Array(256);
  /** Key i lies in `text` from ends[i - 1] to ends[i]. */
  private ends = new Int32Array(256);
  private keys = 0;
  /** For each open object: number of keys before its first. */
  private readonly firsts: number[] = [];
  private readonly sets: (Set<string> | undefined)[] = [];

  get depth(): number {
    return this.firsts.length;
  }

  open(): void {
    this.firsts.push(this.keys);
    this.sets.push(undefined);
  }

  close(): void {
    this.keys = this.firsts.pop()!;
    this.text.at = this.keys === 0 ? 0 : this.ends[this.keys - 1]!;
    this.sets.pop();
  }

  /** Forgets objects until so many are open. */
  closeTo(depth: number): void {
    while (this.depth > depth) this.close();
  }

  /** Adds a key to the innermost object; false when it is there already. */
  add(bytes: Uint8Array, from: number, to: number, hash: number): boolean {
    const level = this.firsts.length - 1;
    const set = this.sets[level];
    if (set !== undefined) return addTo(set, bytes, from, to);
    const first = this.firsts[level]!;
    const { hashes } = this;
    for (let i = first; i < this.keys; i++) if (hashes[i] === hash && this.isKey(i, bytes, from, to)) return false;
    if (this.keys - first === COMPARED_KEYS) {
      const all = new Set<string>();
      for (let i = first; i < this.keys; i++) addTo(all, this.text.bytes, this.startOf(i), this.ends[i]!);
      this.sets[level] = all;
      return addTo(all, bytes, from, to);
    }
    this.remember(bytes, from, to, hash);
    return true;
  }

  private startOf(key: number): number {
    return key === 0 ? 0 : this.ends[key - 1]!;
  }

  private isKey(key: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.startOf(key);
    return this.ends[key]! - start === to - from && sameBytes(bytes, from, to, this.text.bytes, start);
  }

  private remember(bytes: Uint8Array, from: number, to: number, hash: number): void {
    if (this.keys === this.hashes.length) {
      this.hashes = widened(this.hashes);
      this.ends = widened(this.ends);
    }
    this.text.append(bytes, from, to);
    this.hashes[this.keys] = hash;
    this.ends[this.keys] = this.text.at;
    this.keys++;
  }
}

function widened(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wide = new Int32Array(array.length * 2);
  wide.set(array);
  return wide;
}

function addTo(set: Set<string>, bytes: Uint8Array, from: number, to: number): boolean {
  const before = set.size;
  // The letter in front keeps keys such as "12" from being hashed as array indexes, which can be made to collide.
  set.add(`k${Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')}`);
  return set.size > before;
}
