/** One record → the line of a row and those of its children, by the columns that are declared. */

import { type Pipeline, readingOf, type SourceColumn } from '../core/pipeline.ts';
import type { DriftRecord } from '../core/records.ts';
import {
  type ExactDocument,
  type ExactJson,
  type ExactObject,
  exactText,
  isExactArray,
  isExactObject,
} from '../json/exact-json.ts';
import type { AskedKey } from './keys.ts';
import { DriftCounts, type FetchStamp, Line } from './lines.ts';
import { ValueTaker } from './values.ts';

/** A column with the way to its member, first name first. */
interface Place {
  readonly column: SourceColumn;
  readonly way: readonly string[];
}

interface Child {
  readonly pipeline: Pipeline;
  /** Member of the parent's record that is the array of its records. */
  readonly records: string;
  readonly places: readonly Place[];
  readonly drift: DriftCounts;
  /** Number of the next row, and of the first one of the answer in hand. */
  item: number;
  firstItem: number;
}

export class RecordMapper {
  private readonly pipeline: Pipeline;
  private readonly places: readonly Place[];
  private readonly children: readonly Child[];
  private readonly drift: DriftCounts;
  private readonly isTolerant: boolean;
  private readonly mayBeAnything: boolean;
  /** Members that a record may have besides those of columns. */
  private readonly others: ReadonlySet<string>;
  /** Members that are the records of children: an empty list says what its absence says. */
  private readonly lists: ReadonlySet<string>;
  private stamp: FetchStamp | null = null;
  private key: AskedKey = {};

  constructor(pipeline: Pipeline, children: readonly Pipeline[], drift: DriftCounts) {
    const { match, repeats, isTolerant, mayBeAnything } = readingOf(pipeline);
    this.pipeline = pipeline;
    this.places = placesOf(pipeline);
    this.drift = drift;
    this.isTolerant = isTolerant;
    this.mayBeAnything = mayBeAnything;
    this.others = new Set([...(match?.members ?? []), ...repeats]);
    this.children = children.map((child) => ({
      pipeline: child,
      records: (child.source.kind === 'child' && child.source.records) || '',
      places: placesOf(child),
      drift: new DriftCounts(child.name),
      item: 0,
      firstItem: 0,
    }));
    this.lists = new Set(this.children.map(({ records }) => records));
  }

  /** The records that follow are of an answer with this stamp. */
  begin(stamp: FetchStamp): void {
    this.stamp = stamp;
    for (const child of this.children) child.firstItem = child.item;
  }

  /** The line of a row as far as the key and the answer tell it. */
  head(key: AskedKey, item: number, stamp: FetchStamp, outcome: string, reason: string | null): Line {
    const line = new Line(item, stamp);
    putKey(line, this.pipeline, key);
    const has = (field: string) => this.pipeline.columns.some((c) => c.origin === 'answer' && c.field === field);
    if (has('outcome')) line.putPlain('outcome', outcome);
    if (reason !== null) line.put('reason', reason);
    this.key = key;
    return line;
  }

  /** Fills the line of a row with the record's values; returns the lines of each child. */
  fill(line: Line, record: ExactJson, document: ExactDocument): Line[][] {
    const { fetchId } = this.stamp!;
    const values = new ValueTaker(line, fetchId, this.drift, this.isTolerant);
    const raw = document.sentText(record);
    if (this.mayBeAnything || !isExactObject(record)) {
      for (const { column } of this.places) values.takeJson(column, record);
      values.finish(raw);
      return [];
    }
    takeMembers(values, this.places, record, this.others, this.lists);
    const lines = this.children.map((child) => this.childLines(child, line.item, record, values));
    values.finish(raw);
    return lines;
  }

  childDrift(): DriftRecord[] {
    return this.children.flatMap(({ drift }) => drift.report());
  }

  private childLines(child: Child, parentItem: number, record: ExactObject, values: ValueTaker): Line[] {
    const list = record.get(child.records);
    if (!isExactArray(list)) return [];
    if (list.some((one) => !isExactObject(one))) values.refuse('list', child.records);
    const stamp = { ...this.stamp!, firstItem: child.firstItem };
    return list.flatMap((one, position) => {
      if (!isExactObject(one)) return [];
      const line = new Line(child.item++, stamp);
      putKey(line, child.pipeline, this.key);
      line.putPlain('_p', String(parentItem)).putPlain('position', String(position));
      const taker = new ValueTaker(line, stamp.fetchId, child.drift, this.isTolerant);
      takeMembers(taker, child.places, one, NONE, NONE);
      taker.finish(exactText(one));
      return [line];
    });
  }
}

const NONE: ReadonlySet<string> = new Set();

function placesOf({ columns }: Pipeline): Place[] {
  return columns
    .filter(({ origin }) => origin === 'record')
    .map((column) => ({ column, way: column.field.split('.') }));
}

function putKey(line: Line, { columns }: Pipeline, key: AskedKey): void {
  for (const { origin, field } of columns) {
    const value = origin === 'request' ? (key[field] ?? null) : null;
    if (value !== null) line.put(field, value);
  }
}

/**
 * Takes the members of columns; what else the objects on the way have is kept as unknown. `others` are known, though of no column;
 * of `lists` an empty one counts as absent.
 */
function takeMembers(
  values: ValueTaker,
  places: readonly Place[],
  record: ExactObject,
  others: ReadonlySet<string>,
  lists: ReadonlySet<string>,
): void {
  const known = new Set([...others, ...lists]);
  const nested = new Map<string, Place[]>();
  for (const place of places) {
    const [first = '', ...rest] = place.way;
    if (rest.length > 0) {
      nested.set(first, [...(nested.get(first) ?? []), { column: place.column, way: rest }]);
      known.add(first);
      continue;
    }
    if (place.column.json === 'record' && place.column.kind === 'json') {
      values.takeJson(place.column, record);
      continue;
    }
    const name = [first, ...place.column.otherNames].find((one) => record.has(one)) ?? first;
    known.add(name);
    const value = record.get(name);
    if (!(lists.has(name) && isExactArray(value) && value.length === 0)) values.take(place.column, value, name);
  }
  for (const [name, inside] of nested) {
    const value = record.get(name);
    if (value === undefined || value === null) continue;
    if (!isExactObject(value)) values.refuse('object', name);
    else takeInside(values, inside, value, `${name}.`);
  }
  values.keepOthers(record, known);
}

/** The objects inside a record are one level deep. */
function takeInside(values: ValueTaker, places: readonly Place[], object: ExactObject, prefix: string): void {
  for (const { column, way } of places) values.take(column, object.get(way[0] ?? ''), column.field);
  values.keepOthers(object, new Set(places.map(({ way }) => way[0] ?? '')), prefix);
}
