/**
 * Faults of the reductions calls: the file in another form or with broken lines, its name in Content-Disposition written
 * in another way, and another name announced than the download carries. Any number of them strikes one call; of two that
 * say the same thing the later one counts. A file that breaks off is a `truncate` or a `cut`.
 */
import { asBytes } from '../http/pieces.ts';

/** How a name stands in Content-Disposition. */
export type DispositionForm =
  | 'unquoted'
  | 'quoted'
  /** `filename*=UTF-8''…`: the only form that can carry a NUL. */
  | 'extended'
  /** A `filename` with another name, and `filename*` with this one, which goes before it. */
  | 'both'
  /** Twice in one header, the second time with another name. */
  | 'two-names'
  /** Two headers, the second with another name. */
  | 'two-headers'
  /** The header without any name. */
  | 'nameless'
  /** No header. */
  | 'missing';

export interface Disposition {
  readonly kind: 'disposition';
  readonly form: DispositionForm;
  /** The true name unless given: `../../etc/x`, an absolute path, 4,000 characters. */
  readonly name?: string;
}

/** The name call answers this text. */
export interface AnnouncedName {
  readonly kind: 'announced-name';
  readonly name: string;
}

/** The same lines, written in another way. */
export interface FileFormat {
  /** `,` unless given. */
  readonly delimiter?: string;
  /** Every field in quotes. */
  readonly quoted?: boolean;
  readonly byteOrderMark?: boolean;
  readonly lineEnd?: 'lf' | 'crlf' | 'cr';
  /** Whether the last line has an end, as it has unless given. */
  readonly lastLineEnd?: boolean;
  /** Names of the columns in their order: some may be missing, and unknown ones hold a text. */
  readonly columns?: readonly string[];
  /** The first line, as it stands; '' for none. */
  readonly header?: string;
}

/** A line that cannot be loaded, or `text` as it stands. */
export interface BrokenLine {
  readonly kind: 'broken-line';
  readonly how:
    | 'few-fields'
    | 'many-fields'
    | 'bad-number'
    | 'bad-day'
    | 'bad-ean'
    | 'open-quote'
    | 'invalid-utf8'
    | 'nul'
    | 'duplicate'
    | 'text';
  readonly text?: string;
  /** Position among the lines below the header; 0 unless given. */
  readonly line?: number;
  /** Whether it stands instead of that line, or as an `extra` one before it, as it does unless given. */
  readonly as?: 'extra' | 'instead';
}

export interface FileContent {
  readonly kind: 'file-content';
  readonly content: 'empty' | 'header-only';
}

export type FileFault =
  | Disposition
  | AnnouncedName
  | (FileFormat & { readonly kind: 'file-format' })
  | BrokenLine
  | FileContent;

export const FILE_FAULT_KINDS: ReadonlySet<string> = new Set<FileFault['kind']>([
  'disposition',
  'announced-name',
  'file-format',
  'broken-line',
  'file-content',
]);

const OTHER_NAME = 'another_name.csv';

/** Percent-encoded as RFC 8187 has it. */
function extended(name: string): string {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `filename*=UTF-8''${encoded}`;
}

/** Forms that write the name as it is, for which it may hold no control character. */
export const VERBATIM_FORMS: readonly DispositionForm[] = ['unquoted', 'quoted', 'two-names', 'two-headers'];

/** The value of Content-Disposition, or its several values; undefined for no such header. `name` is the true one. */
export function dispositionOf(name: string, faults: readonly FileFault[]): string | readonly string[] | undefined {
  const fault = faults.findLast((one) => one.kind === 'disposition');
  const written = fault?.name ?? name;
  // Characters beyond ASCII go out as the bytes of their UTF-8 form, as careless services send them.
  const bytes = asBytes(written);
  const unquoted = `attachment; filename=${bytes}`;
  switch (fault?.form) {
    case undefined:
    case 'unquoted':
      return unquoted;
    case 'quoted':
      return `attachment; filename="${bytes.replace(/["\\]/g, '\\$&')}"`;
    case 'extended':
      return `attachment; ${extended(written)}`;
    case 'both':
      return `attachment; filename="${OTHER_NAME}"; ${extended(written)}`;
    case 'two-names':
      return `${unquoted}; filename=${OTHER_NAME}`;
    case 'two-headers':
      return [unquoted, `attachment; filename=${OTHER_NAME}`];
    case 'nameless':
      return 'attachment';
    case 'missing':
      return undefined;
  }
}

/** What the name call answers. */
export function announcedName(name: string, faults: readonly FileFault[]): string {
  return faults.findLast((fault) => fault.kind === 'announced-name')?.name ?? name;
}
