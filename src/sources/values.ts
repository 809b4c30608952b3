/** Members of a record as texts of a line, by the rules for values of the design: what is changed is drift, what cannot be taken is named in `_b`. */
import type { ColumnKind } from '../core/columns.ts';
import { isDay } from '../core/days.ts';
import type { SourceColumn } from '../core/pipeline.ts';
import {
  type ExactJson,
  ExactNumber,
  type ExactObject,
  exactText,
  isExactArray,
  isExactObject,
} from '../json/exact-json.ts';
import { type DriftCounts, type Line, rejectRaw } from './lines.ts';

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const NUMBERS: ReadonlySet<ColumnKind> = new Set(['money', 'percentage', 'count', 'ratio']);

/** Fills the line of one record; ends with `finish`. */
export class ValueTaker {
  private readonly line: Line;
  private readonly fetchId: string;
  private readonly drift: DriftCounts;
  private readonly isTolerant: boolean;
  private unknown: Map<string, ExactJson> | null = null;
  private fault: string | null = null;

  /** `isTolerant`: what a column cannot take goes to `extra`, and makes the row no reject. */
  constructor(line: Line, fetchId: string, drift: DriftCounts, isTolerant: boolean) {
    this.line = line;
    this.fetchId = fetchId;
    this.drift = drift;
    this.isTolerant = isTolerant;
  }

  /** Takes a member's value into its column. `name` is what the record calls it. */
  take(column: SourceColumn, value: ExactJson | undefined, name: string): void {
    if (column.kind === 'json') {
      this.takeJson(column, value, name);
      return;
    }
    if (value === undefined || value === null) return;
    const text = this.scalarText(column, value, name);
    if (text === null) {
      if (this.isTolerant) this.keepUnknown(name, value);
      else this.refuse(NUMBERS.has(column.kind) ? 'number' : 'text', column.field);
      return;
    }
    if (NUMBERS.has(column.kind)) this.line.putPlain(column.field, text);
    else this.line.put(column.field, text);
    if (column.known.length > 0 && !column.known.includes(text))
      this.drift.add(this.fetchId, 'unknown_value', name, text);
  }

  /** The same for a JSON column. */
  takeJson({ field, json, arrayAt }: SourceColumn, value: ExactJson | undefined, name = field): void {
    if (json === 'texts') {
      this.line.put(field, exactText(this.textsOf(value, name)));
      return;
    }
    if (value === undefined || (value === null && json !== 'record')) return;
    if (json === 'list' && !isExactArray(value)) {
      if (this.isTolerant) this.keepUnknown(name, value);
      else this.refuse('list', field);
      return;
    }
    const kept = arrayAt === null ? value : withArraysAt(value, arrayAt.split('.'));
    this.line.put(field, this.drift.jsonText(this.fetchId, name, kept));
  }

  /** The column has a value that its type cannot take; the first such is named. */
  refuse(expected: 'text' | 'number' | 'list' | 'object', field: string): void {
    this.fault ??= `bad_${expected}:${field}`;
  }

  /** The rest of the object's members, besides those that are known. */
  keepOthers(object: ExactObject, known: ReadonlySet<string>, prefix = ''): void {
    for (const [name, value] of object) if (!known.has(name)) this.keepUnknown(`${prefix}${name}`, value);
  }

  /** Ends the line with what stands beside the columns; `raw` is the record as sent. */
  finish(raw: string): void {
    if (this.unknown !== null) this.line.put('_x', this.drift.jsonText(this.fetchId, 'extra', this.unknown));
    if (this.fault !== null) this.line.put('_b', this.fault);
    this.line.put('_raw', rejectRaw(raw));
  }

  /** A member that the contract does not know. Absent and null are the same. */
  private keepUnknown(name: string, value: ExactJson): void {
    if (value === null && this.isTolerant) return;
    this.unknown ??= new Map();
    this.unknown.set(name, value);
    this.drift.add(this.fetchId, 'unknown_field', name, exactText(value));
  }

  private scalarText({ kind }: SourceColumn, value: ExactJson, name: string): string | null {
    const isNumber = NUMBERS.has(kind);
    if (typeof value === 'string') {
      if (kind === 'utc-time' && this.isTolerant) return isInstant(value) ? value : null;
      if (!isNumber) return value;
      return NUMBER.test(value) ? this.passed('number_as_text', name, value) : null;
    }
    if (value instanceof ExactNumber) return isNumber ? value.text : this.passed('text_as_number', name, value.text);
    if (typeof value === 'boolean' && kind === 'text' && !this.isTolerant)
      return this.passed('boolean_as_text', name, String(value));
    return null;
  }

  private textsOf(value: ExactJson | undefined, name: string): string[] {
    if (value === undefined || value === null) return [];
    const texts = isExactArray(value) ? value.flatMap((one) => plainText(one) ?? []) : [];
    if (!isExactArray(value) || texts.length < value.length) this.keepUnknown(name, value);
    return [...new Set(texts)].sort();
  }

  private passed(kind: string, name: string, text: string): string {
    if (!this.isTolerant) this.drift.add(this.fetchId, kind, name, text);
    return text;
  }
}

function isInstant(text: string): boolean {
  return INSTANT.test(text) && isDay(text.slice(0, 10)) && Number.isFinite(Date.parse(text));
}

/** The list with the members at the end of the way as arrays: live data has arrays, the published sample a single value. */
function withArraysAt(value: ExactJson, [first = '', ...rest]: readonly string[]): ExactJson {
  if (isExactArray(value)) return value.map((one) => withArraysAt(one, [first, ...rest]));
  if (!isExactObject(value)) return value;
  const member = value.get(first);
  if (member === undefined || member === null) return value;
  if (rest.length > 0) return isExactArray(member) ? new Map([...value, [first, withArraysAt(member, rest)]]) : value;
  return isExactArray(member) ? value : new Map<string, ExactJson>([...value, [first, [member]]]);
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
