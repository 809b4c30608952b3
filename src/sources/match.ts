/** Which record of an answer belongs to which key that was asked for. */

import { isPathId } from '../core/ids.ts';
import { LIMITS } from '../core/limits.ts';
import { type Pipeline, type RecordMatch, readingOf } from '../core/pipeline.ts';
import { type ExactDocument, type ExactJson, exactText, isExactObject } from '../json/exact-json.ts';
import type { AskedKey } from './keys.ts';
import { kindOf, plainText } from './values.ts';

/** Why a record cannot become a row. */
export interface Fault {
  readonly reason: string;
  readonly detail: string;
  /** The key that it is about, where that is known. */
  readonly key?: AskedKey;
}

export interface Matched {
  readonly found: readonly { readonly key: AskedKey; readonly record: ExactJson }[];
  readonly rejected: readonly { readonly record: ExactJson; readonly fault: Fault }[];
  /** Records that say the same as another one of their key. */
  readonly duplicates: number;
}

type Note = (kind: string, field: string, example: string) => void;

/** Of two records of one key the later counts; the other is a duplicate, or a reject where they differ. `note` counts drift. */
export function matchRecords(
  pipeline: Pipeline,
  keys: readonly AskedKey[],
  records: readonly ExactJson[],
  document: ExactDocument,
  note: Note,
): Matched {
  const { match } = readingOf(pipeline);
  if (match === null)
    return { found: records.map((record) => ({ key: keys[0] ?? {}, record })), rejected: [], duplicates: 0 };
  const matcher = new Matcher(pipeline, match, keys, document, note);
  const found = new Map<string, { key: AskedKey; record: ExactJson }>();
  const rejected: { record: ExactJson; fault: Fault }[] = [];
  let duplicates = 0;
  for (const record of records) {
    const matched = matcher.keyOf(record);
    if ('reason' in matched) {
      rejected.push({ record, fault: matched });
      continue;
    }
    const before = found.get(matched.name);
    found.set(matched.name, { key: matched.key, record });
    if (before === undefined) continue;
    if (exactText(before.record) === exactText(record)) duplicates++;
    else {
      const detail = `${match.to} = ${matched.name}`;
      rejected.push({ record: before.record, fault: { reason: 'conflicting_key', detail, key: matched.key } });
    }
  }
  return { found: [...found.values()], rejected, duplicates };
}

class Matcher {
  private readonly match: RecordMatch;
  private readonly repeats: readonly string[];
  private readonly isOne: boolean;
  private readonly isList: boolean;
  private readonly byName: ReadonlyMap<string, AskedKey>;
  private readonly only: AskedKey | undefined;
  private readonly document: ExactDocument;
  private readonly note: Note;

  constructor(pipeline: Pipeline, match: RecordMatch, keys: readonly AskedKey[], document: ExactDocument, note: Note) {
    const { records, repeats } = readingOf(pipeline);
    this.match = match;
    this.repeats = repeats;
    this.isOne = records === null;
    this.isList = pipeline.source.kind === 'list';
    this.byName = new Map(keys.map((key) => [this.form(key[match.to] ?? ''), key]));
    this.only = this.isOne ? keys[0] : undefined;
    this.document = document;
    this.note = note;
  }

  keyOf(record: ExactJson): { readonly name: string; readonly key: AskedKey } | Fault {
    if (!isExactObject(record)) return { reason: 'not_an_object', detail: `the record is ${kindOf(record)}` };
    const size = this.document.sentText(record).length;
    const tooLarge = { reason: 'item_too_large', detail: `is larger than ${LIMITS.itemBytes} characters` };
    const member = this.match.members.find((name) => !isEmpty(record.get(name))) ?? this.match.members[0]!;
    const value = record.get(member);
    if (isEmpty(value)) return this.unnamed(member, size > LIMITS.itemBytes ? tooLarge : null);
    const text = plainText(value);
    if (text === null) return { reason: 'bad_text', detail: member, ...this.onlyKey() };
    const isText = typeof value === 'string';
    const name = this.form(this.match.form === 'ean' && !isText ? text.padStart(13, '0') : text);
    const found = this.found(name, text, member);
    if ('fault' in found) return found.fault;
    const { key } = found;
    if (size > LIMITS.itemBytes) return { ...tooLarge, key };
    for (const other of this.repeats) {
      const repeated = record.get(other) ?? key[other] ?? null;
      if (typeof repeated === 'string' && repeated.toUpperCase() === key[other]?.toUpperCase()) continue;
      return {
        reason: `other_${other}`,
        detail: `${other} = ${exactText(repeated).slice(0, 200)}, not ${key[other]}`,
        key,
      };
    }
    if (!isText) this.note('text_as_number', member, text);
    return { name, key };
  }

  /** A record that names no key is about the only one that was asked for. */
  private unnamed(member: string, fault: Fault | null): { readonly name: string; readonly key: AskedKey } | Fault {
    const isKnown = this.only !== undefined && (this.only[this.match.to] ?? null) !== null;
    if (!isKnown) return { reason: 'missing_field', detail: member, ...this.onlyKey() };
    if (fault) return { ...fault, ...this.onlyKey() };
    return { name: '', key: this.only! };
  }

  private found(name: string, text: string, member: string): { readonly key: AskedKey } | { readonly fault: Fault } {
    const { to, form } = this.match;
    const shown = `${member} = ${text.slice(0, 200)}`;
    if (form === 'id' && !isPathId(text)) return { fault: { reason: 'bad_id', detail: shown, ...this.onlyKey() } };
    if (this.isList) return { key: { [to]: text } };
    const known = this.byName.get(name);
    if (known !== undefined) return { key: known };
    if (this.only === undefined) return { fault: { reason: 'not_asked', detail: shown } };
    const asked = this.only[to] ?? null;
    // Of what was begun by the call only the answer says how it is called.
    if (asked === null) return { key: { ...this.only, [to]: text } };
    return { fault: { reason: `other_${to}`, detail: `${shown}, not ${asked}`, key: this.only } };
  }

  private onlyKey(): Pick<Fault, 'key'> {
    return this.only === undefined ? {} : { key: this.only };
  }

  private form(text: string): string {
    return this.match.form === 'id' ? text.toLowerCase() : text;
  }
}

function isEmpty(value: ExactJson | undefined): boolean {
  return value === undefined || value === null || value === '';
}
