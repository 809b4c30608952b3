/** What the program knows of erased values: that something replaces them in what comes. What does so is in src/extras/masking. */

/** What is in a file: a body of JSON, or one that is packed. */
export type BodyKind = 'json' | 'gzip';

/** Replaces what was erased in an answer of one pipeline, before anybody else sees it. */
export interface Masker {
  /** Pieces in which something was replaced. */
  readonly found: number;
  /** The bytes with marks; themselves when nothing is found. Bytes that are no UTF-8 stay as they are. */
  mask(bytes: Uint8Array): Uint8Array;
  /** A text without structure. */
  words(text: string): string;
  /** The answer's decoded bytes. What is handed on is not changed afterwards. */
  through(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** The same in the file's own place; `scratch`: on the same file system. Errors: of a file that is no such body. */
  inPlace(file: string, scratch: string, kind: BodyKind): Promise<void>;
}

export interface Masking {
  /** null while nothing is erased that could stand in an answer of the pipeline. */
  masker(pipeline: string): Promise<Masker | null>;
  /** Replaces it in messages that were refused and lie in this folder of the inbox. */
  setAside(inbox: string, masker: Masker): Promise<void>;
}
