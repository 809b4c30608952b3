/** Counts where an answer differs from what is expected without being wrong. */
import { printable } from './byte-buffer.ts';
import type { DriftKind, SplitDrift } from './interface.ts';
import { sameBytes } from './key-sets.ts';

/** Unknown names that are counted one by one, and the longest of them; the rest goes under `…`. An answer could hold millions. */
const NAMES_KEPT = 100;
const NAME_BYTES = 256;

const KINDS = [
  'unknown_field',
  'number_as_text',
  'text_as_number',
  'boolean_as_text',
  'lone_surrogate',
  'nul_removed',
  'unknown_member',
  'huge_number',
] as const satisfies readonly DriftKind[];

/** A name of the answer, with what was different there. */
export class DriftCounter {
  readonly name: string;
  private readonly counts = new Float64Array(KINDS.length);
  private readonly examples: string[] = KINDS.map(() => '');

  constructor(name: string) {
    this.name = name;
  }

  /** Counts `times` and, the first time, keeps the bytes from `from` to `to` as the example. */
  count(kind: DriftKind, times: number, bytes: Uint8Array, from: number, to: number): void {
    const index = KINDS.indexOf(kind);
    if (this.counts[index] === 0) this.examples[index] = printable(bytes, from, to);
    this.counts[index]! += times;
  }

  report(): SplitDrift[] {
    return KINDS.flatMap((kind, index) => {
      const count = this.counts[index]!;
      return count === 0 ? [] : [{ kind, field: this.name, count, example: this.examples[index]! }];
    });
  }
}

/** Unknown names, found again by their bytes. */
export class UnknownNames {
  private readonly hashes = new Int32Array(NAMES_KEPT);
  private readonly texts: Uint8Array[] = [];
  private readonly kept: DriftCounter[] = [];
  private readonly rest = new DriftCounter('…');

  find(bytes: Uint8Array, from: number, to: number, hash: number): DriftCounter {
    const { hashes, texts, kept } = this;
    for (let i = 0; i < kept.length; i++) {
      const text = texts[i]!;
      if (hashes[i] === hash && text.length === to - from && sameBytes(bytes, from, to, text, 0)) return kept[i]!;
    }
    if (kept.length === NAMES_KEPT || to - from > NAME_BYTES) return this.rest;
    const named = new DriftCounter(printable(bytes, from, to, NAME_BYTES));
    hashes[kept.length] = hash;
    texts.push(bytes.slice(from, to));
    kept.push(named);
    return named;
  }

  report(): SplitDrift[] {
    return [...this.kept, this.rest].flatMap((named) => named.report());
  }
}
