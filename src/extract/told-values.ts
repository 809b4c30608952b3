/** Members of a record as texts of a line, by the rules of DESIGN.md §9: what is mended is drift, what cannot be taken is named in `_b`. */
import {
  type ExactJson,
  ExactNumber,
  type ExactObject,
  exactText,
  isExactArray,
  isExactObject,
} from '../core/exact-json.ts';
import { type DriftCounts, type Line, rejectRaw } from './told-lines.ts';

/** What a member is expected to be; `list` and its elements go on as JSON text. */
export type Expected = 'text' | 'number' | 'list';

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** Fills the line of one record; ends with `finish`. */
export class ValueTaker {
  private readonly line: Line;
  private readonly fetchId: string;
  private readonly drift: DriftCounts;
  private unknown: Map<string, ExactJson> | null = null;
  private fault: string | null = null;

  constructor(line: Line, fetchId: string, drift: DriftCounts) {
    this.line = line;
    this.fetchId = fetchId;
    this.drift = drift;
  }

  /** Takes a member's value into the field. `name` is what drift calls it, where that is not the field. */
  take(field: string, expected: Expected, value: ExactJson | undefined, name = field): void {
    if (value === undefined || value === null) return;
    const text = expected === 'list' ? this.listText(name, value) : this.scalarText(expected, value, name);
    if (text === null) this.refuse(expected, field);
    else if (expected === 'number') this.line.putPlain(field, text);
    else this.line.put(field, text);
  }

  /** The field has a value that its type cannot take; the first such is told. */
  refuse(expected: Expected | 'object', field: string): void {
    this.fault ??= `bad_${expected}:${field}`;
  }

  /** A member that the contract does not know. */
  keepUnknown(name: string, value: ExactJson): void {
    this.unknown ??= new Map();
    this.unknown.set(name, value);
    this.drift.add(this.fetchId, 'unknown_field', name, exactText(value));
  }

  /** The rest of the object's members, besides those that are known. */
  keepOthers(object: ExactObject, known: ReadonlySet<string>, prefix = ''): void {
    for (const [name, value] of object) if (!known.has(name)) this.keepUnknown(`${prefix}${name}`, value);
  }

  /** Ends the line with what stands beside the fields; `raw` is the record as sent. */
  finish(raw: string): Line {
    if (this.unknown !== null) this.line.put('_x', this.drift.jsonText(this.fetchId, 'extra', this.unknown));
    if (this.fault !== null) this.line.put('_b', this.fault);
    return this.line.put('_raw', rejectRaw(raw));
  }

  private scalarText(expected: 'text' | 'number', value: ExactJson, name: string): string | null {
    if (typeof value === 'string') {
      if (expected === 'text') return value;
      if (!NUMBER.test(value)) return null;
      return this.passed('number_as_text', name, value);
    }
    if (value instanceof ExactNumber)
      return expected === 'number' ? value.text : this.passed('text_as_number', name, value.text);
    if (typeof value === 'boolean' && expected === 'text') return this.passed('boolean_as_text', name, String(value));
    return null;
  }

  private listText(name: string, value: ExactJson): string | null {
    return isExactArray(value) ? this.drift.jsonText(this.fetchId, name, value) : null;
  }

  private passed(kind: string, name: string, text: string): string {
    this.drift.add(this.fetchId, kind, name, text);
    return text;
  }
}

/** The member as text where it is a text or a number; else null. */
export function plainText(value: ExactJson | undefined): string | null {
  if (typeof value === 'string') return value;
  return value instanceof ExactNumber ? value.text : null;
}

/** What kind of value it is, for a message. */
export function kindOf(value: ExactJson): string {
  if (value === null) return 'null';
  if (isExactArray(value)) return 'an array';
  if (isExactObject(value)) return 'an object';
  return value instanceof ExactNumber ? 'a number' : typeof value === 'string' ? 'a text' : 'true or false';
}
