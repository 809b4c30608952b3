/** The known fields, found by the bytes of a key; a guess by the order of the item before finds most. */
import assert from 'node:assert/strict';
import { DriftCounter } from './drift.ts';
import type { Expect, SplitField } from './interface.ts';
import { hashOf, sameBytes } from './key-sets.ts';

/** Keys of the output line that are the splitter's own. */
export const OWN_KEYS = ['_i', '_o', '_l', '_x', '_b'] as const;

const encoder = new TextEncoder();

/** A known field with the bytes that it takes in the output line. */
export class KnownField extends DriftCounter {
  readonly expect: Expect;
  readonly isText: boolean;
  readonly isNumber: boolean;
  /** Its key and colon as they stand in nearly every answer: `"price":`. Empty when it cannot stand there unescaped. */
  readonly quoted: Uint8Array;
  /** The same as words; of the last one only the bits of `keyMask` count. */
  readonly keyWords: Int32Array;
  readonly keyMask: number;
  /** `,"price":"` */
  readonly opening: Uint8Array;
  readonly openingWords: Int32Array;
  /** `,"price":null` */
  readonly nulled: Uint8Array;
  /** `bad_number:price`, as the inside of a JSON string */
  readonly fault: Uint8Array;
  /** The key decoded. */
  readonly key: Uint8Array;
  /** Number of the last item that had it: a second time in one item is a duplicate. */
  seenIn = -1;
  /** The field that came after it in the last item that had both. */
  next: KnownField = this;

  constructor(field: SplitField) {
    super(field.field);
    const text = JSON.stringify(field.field);
    this.expect = field.expect;
    this.isText = field.expect === 'text';
    this.isNumber = field.expect === 'number';
    this.key = encoder.encode(field.field);
    this.quoted = encoder.encode(text === `"${field.field}"` ? `${text}:` : '');
    this.keyWords = wordsIn(this.quoted);
    this.keyMask = this.quoted.length % 4 === 0 ? -1 : (1 << (8 * (this.quoted.length % 4))) - 1;
    this.opening = encoder.encode(`,${text}:"`);
    this.openingWords = wordsIn(this.opening);
    this.nulled = encoder.encode(`,${text}:null`);
    this.fault = encoder.encode(`bad_${field.expect}:${text.slice(1, -1)}`);
  }
}

/** Little-endian words of the bytes, filled up with zeros. */
function wordsIn(bytes: Uint8Array): Int32Array {
  const filled = new Uint8Array(4 * Math.ceil(bytes.length / 4));
  filled.set(bytes);
  const view = new DataView(filled.buffer);
  return Int32Array.from({ length: filled.length / 4 }, (_, i) => view.getInt32(4 * i, true));
}

export class Fields {
  readonly all: readonly KnownField[];
  /** Comes before the first field of an item: its `next` is the guess for that one. */
  readonly head: KnownField;
  /** Bytes of the longest opening or null. */
  readonly longestBytes: number;
  private readonly hashes: Int32Array;

  constructor(fields: readonly SplitField[]) {
    const names = new Set<string>(OWN_KEYS);
    for (const { field } of fields) {
      assert(!names.has(field), `the splitter cannot have a field "${field}" twice or as its own`);
      assert(!/\p{Surrogate}/u.test(field), `the name of field "${field}" is not well-formed`);
      names.add(field);
    }
    this.all = fields.map((field) => new KnownField(field));
    this.head = new KnownField({ field: '"', expect: 'text' }); // a name whose `quoted` is empty, so that it is never guessed
    let before = this.head;
    for (const known of this.all) {
      before.next = known;
      before = known;
    }
    before.next = this.head;
    this.hashes = Int32Array.from(this.all, (known) => hashOf(known.key, 0, known.key.length));
    this.longestBytes = Math.max(16, ...this.all.map((known) => known.nulled.length));
  }

  /** The field with this decoded key. */
  find(bytes: Uint8Array, from: number, to: number, hash: number): KnownField | undefined {
    const { hashes } = this;
    for (let i = 0; i < hashes.length; i++) {
      if (hashes[i] !== hash) continue;
      const known = this.all[i]!;
      if (known.key.length === to - from && sameBytes(bytes, from, to, known.key, 0)) return known;
    }
    return undefined;
  }
}
