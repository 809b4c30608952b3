/** What goes into the splitter and what comes out of it. README.md says what the output lines look like. */

/** The JSON type that is expected of a field. */
export type Expect = 'text' | 'number' | 'boolean';

export interface SplitField {
  /** The key in the JSON and in the output line. */
  readonly field: string;
  readonly expect: Expect;
}

export interface SplitLimits {
  /** Bytes of one item; also of all members beside `items` together. */
  readonly itemBytes: number;
  /** Nesting inside one item, the item itself being 1; also of members beside `items`. */
  readonly itemDepth: number;
  readonly answerBytes: number;
}

export interface SplitOptions {
  readonly fields: readonly SplitField[];
  readonly limits: SplitLimits;
  /**
   * Called with finished lines, many at a time, ending in `\n`. The bytes are valid during the call only: the splitter
   * overwrites them afterwards. Write them synchronously or copy them (`lines.slice()`).
   */
  readonly onLines: (lines: Uint8Array) => void;
  /** Called at the end of a rejected item; lines of earlier items may still be waiting for onLines. */
  readonly onReject: (reject: SplitReject) => void;
}

export type RejectReason =
  | 'not_an_object'
  | 'invalid_utf8'
  | 'duplicate_key'
  | 'control_character'
  | 'bad_escape'
  | 'bad_literal'
  | 'too_deep'
  | 'item_too_large';

export interface SplitReject {
  /** Number of the item in the answer, from 0. */
  readonly item: number;
  /** Bytes from the beginning of the decoded answer to the first byte of the item. */
  readonly offset: number;
  /** Bytes of the item. */
  readonly length: number;
  /** The first fault of the item. */
  readonly reason: RejectReason;
  /** What was found and at which byte of the answer. */
  readonly detail: string;
}

export type DriftKind =
  | 'unknown_field'
  | 'number_as_text'
  | 'text_as_number'
  | 'boolean_as_text'
  | 'lone_surrogate'
  | 'nul_removed'
  | 'unknown_member'
  | 'huge_number';

/** Counted where it is met, so also in the part of a rejected item that lies before its fault. */
export interface SplitDrift {
  readonly kind: DriftKind;
  /** The field of the item, or the member of the answer; `…` for those past the first 100 unknown names. */
  readonly field: string;
  readonly count: number;
  /** The first value met: short, printable. */
  readonly example: string;
}

export interface SplitResult {
  /** Always lines + rejects. */
  readonly items: number;
  readonly lines: number;
  readonly rejects: number;
  /** Bytes of the decoded answer. */
  readonly bytes: number;
  /** With its `\n`; a reader's limit for one object must not be below it. */
  readonly longestLineBytes: number;
  /** Whether a number of a line has an exponent. */
  readonly hasExponents: boolean;
  readonly drift: readonly SplitDrift[];
}

/** Why an answer as a whole cannot be used. */
export type RefusalCode =
  | 'not_json'
  | 'not_an_object'
  | 'no_items'
  | 'second_items'
  | 'malformed'
  | 'cut'
  | 'after_end'
  | 'answer_too_large';

/** The answer as a whole cannot be used; what it gave before must be thrown away. */
export class RefusedAnswer extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.name = 'RefusedAnswer';
    this.code = code;
  }
}
