/**
 * Answers of look-ups and lists → lines of a pipeline and of its children, as the declarations say (core/pipeline.ts, Reading): the one
 * mapper from a record to a row.
 *
 * Every key that was asked for becomes a row: `found` with the values of its record, `not_found` where the answer leaves it out, or
 * what the status of an answer that refuses says. What cannot be a row is a reject.
 *
 * For each answer:  records = found + rejects + duplicates,  and  keys = found + missing + refused + rejected keys + open.
 * `open` are those of a refused batch that the answer says nothing about: they were asked for again in another call.
 */
import { assert, EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { type Pipeline, type Reading, readingOf } from '../core/pipeline.ts';
import type { DriftRecord, FetchRecord } from '../core/records.ts';
import { type ExactDocument, type ExactJson, exactText, isExactArray, isExactObject } from '../json/exact-json.ts';
import { verdictOf } from './batches.ts';
import { bodyText, documentOf, isRefusal, isSoundUtf8, type LookupAnswer } from './body.ts';
import { type AskedKey, keysIn } from './keys.ts';
import { DriftCounts, type FetchStamp, type LineFile, LineSink, rejectRaw, stampOf } from './lines.ts';
import { type Fault, matchRecords } from './match.ts';
import { RecordMapper } from './record.ts';
import { refusalOf, refusalReason } from './refusal.ts';
import { kindOf, plainText } from './values.ts';

export interface ReadFiles {
  readonly rows: LineFile;
  /** In the order of the children that were given. */
  readonly children: readonly LineFile[];
  /** Lines of RejectLine. */
  readonly rejects: LineFile;
  readonly duplicates: number;
  readonly drift: readonly DriftRecord[];
}

/** What became of keys and records, over all answers. */
export interface ReadCounts {
  keys: number;
  records: number;
  found: number;
  missing: number;
  refused: number;
  rejectedKeys: number;
  open: number;
  rejects: number;
  duplicates: number;
}

/** How many records an answer has. Errors: `failed/not_an_object`, `failed/no_<records>`, `failed/answer_too_large`. */
export function countRecords(pipeline: Pipeline, document: ExactDocument): number {
  return recordsIn(readingOf(pipeline), document).length;
}

export class AnswerReader {
  private readonly pipeline: Pipeline;
  private readonly reading: Reading;
  private readonly timeZone: string;
  private readonly rows: LineSink;
  private readonly children: readonly LineSink[];
  private readonly rejects: LineSink;
  private readonly drift: DriftCounts;
  private readonly mapper: RecordMapper;
  readonly counts: ReadCounts = {
    keys: 0,
    records: 0,
    found: 0,
    missing: 0,
    refused: 0,
    rejectedKeys: 0,
    open: 0,
    rejects: 0,
    duplicates: 0,
  };
  /** Number of the next row or reject. */
  private item = 0;

  private constructor(pipeline: Pipeline, children: readonly Pipeline[], timeZone: string, sinks: readonly LineSink[]) {
    const [rows, rejects, ...rest] = sinks;
    assert(rows && rejects, 'the files of a reader were not opened');
    this.pipeline = pipeline;
    this.reading = readingOf(pipeline);
    this.timeZone = timeZone;
    this.rows = rows;
    this.rejects = rejects;
    this.children = rest;
    this.drift = new DriftCounts(pipeline.name);
    this.mapper = new RecordMapper(pipeline, children, this.drift);
  }

  /** Opens the files in a folder that is there; `timeZone` is the service's. */
  static async open(
    pipeline: Pipeline,
    children: readonly Pipeline[],
    folder: string,
    timeZone: string,
  ): Promise<AnswerReader> {
    const names = [pipeline.name, `${pipeline.name}.rejects`, ...children.map(({ name }) => name)];
    const sinks: LineSink[] = [];
    for (const name of names) sinks.push(await LineSink.open(folder, name));
    return new AnswerReader(pipeline, children, timeZone, sinks);
  }

  /**
   * Takes an answer with the keys that were asked for. Errors: `failed/not_json`, those of `countRecords`, and `failed/damaged_answer`
   * where it cannot be known what was asked; nothing of the answer is taken then.
   */
  async take({ fetch, asked, body }: LookupAnswer): Promise<void> {
    const keys = keysIn(this.pipeline, asked, fetch);
    const stamp = stampOf(fetch, this.timeZone, this.item);
    this.mapper.begin(stamp);
    if (isRefusal(fetch)) this.takeRefusal(keys, fetch.status, bodyText(body), fetch, stamp);
    else this.takeAnswer(keys, body, stamp);
    await this.flush();
  }

  async close(): Promise<ReadFiles> {
    await this.flush();
    const [rows, rejects, ...children] = await Promise.all(this.sinks().map((sink) => sink.close()));
    assert(rows && rejects, 'the files of a reader were not opened');
    const { counts } = this;
    const named = `the answers of ${this.pipeline.name}`;
    assert(counts.records === counts.found + counts.rejects + counts.duplicates, `${named} lost a record`);
    const keys = counts.found + counts.missing + counts.refused + counts.rejectedKeys + counts.open;
    assert(this.isList() || counts.keys === keys, `${named} lost a key`);
    const drift = [...this.drift.report(), ...this.mapper.childDrift()];
    return { rows, rejects, children, duplicates: counts.duplicates, drift };
  }

  private takeRefusal(
    keys: readonly AskedKey[],
    status: number,
    text: string,
    fetch: FetchRecord,
    stamp: FetchStamp,
  ): void {
    const { outcomes, isRefusedByKey } = this.reading;
    if (isRefusedByKey) {
      const eans = keys.map((key) => ({ key, ean: String(key.ean) }));
      const { refused, open } = verdictOf(
        eans,
        refusalOf(
          status,
          text,
          eans.map(({ ean }) => ean),
        ),
      );
      for (const { question, reason } of refused) this.putWithout(question.key, 'refused', reason, stamp);
      this.counts.keys += keys.length;
      this.counts.refused += refused.length;
      this.counts.open += open.length;
      return;
    }
    const outcome = outcomes[status] ?? outcomes['*'];
    const { match } = this.reading;
    const isNamed = keys.length > 0 && keys.every((key) => match === null || (key[match.to] ?? null) !== null);
    if (outcome === undefined || !isNamed) throw damaged(fetch, `its status is ${status}`);
    const reason = refusalReason(status, text);
    for (const key of keys) this.putWithout(key, outcome, reason, stamp);
    this.counts.keys += keys.length;
    this.counts.refused += keys.length;
  }

  private takeAnswer(keys: readonly AskedKey[], body: Uint8Array, stamp: FetchStamp): void {
    if (this.reading.mayBeAnything) {
      const fault = unreadable(this.reading, keys, body);
      if (fault !== null) {
        this.putUnreadable(keys, fault, body, stamp);
        return;
      }
    }
    const document = documentOf(body);
    const records = recordsIn(this.reading, document);
    this.countDrift(document, isSoundUtf8(body), stamp);
    const { found, rejected, duplicates } = matchRecords(this.pipeline, keys, records, document, this.note(stamp));
    const rejectedKeys = new Set(rejected.flatMap(({ fault }) => (fault.key === undefined ? [] : [fault.key])));
    if (this.isList()) demandAll(rejected);
    for (const { record, fault } of rejected) this.putReject(record, fault, document, stamp);
    for (const { key, record } of found) this.putFound(key, record, document, stamp);
    const foundKeys = new Set(found.map(({ key }) => key));
    const missing = keys.filter((key) => !foundKeys.has(key) && !rejectedKeys.has(key));
    // An answer that is one record and is not about its key says nothing of the key.
    const isAnyMissing = this.reading.records !== null;
    if (isAnyMissing) for (const key of missing) this.putWithout(key, 'not_found', null, stamp);
    this.counts.keys += keys.length;
    this.counts.records += records.length;
    this.counts.found += found.length;
    this.counts.duplicates += duplicates;
    this.counts.missing += isAnyMissing ? missing.length : 0;
    this.counts.rejectedKeys += keys.length - foundKeys.size - (isAnyMissing ? missing.length : 0);
  }

  private putFound(key: AskedKey, record: ExactJson, document: ExactDocument, stamp: FetchStamp): void {
    const line = this.mapper.head(key, this.item++, stamp, 'found', null);
    const children = this.mapper.fill(line, record, document);
    this.rows.put(line);
    for (const [at, lines] of children.entries()) for (const child of lines) this.children[at]!.put(child);
  }

  private putWithout(key: AskedKey, outcome: string, reason: string | null, stamp: FetchStamp): void {
    this.rows.put(this.mapper.head(key, this.item++, stamp, outcome, reason));
  }

  private putReject(record: ExactJson, { reason, detail }: Fault, document: ExactDocument, stamp: FetchStamp): void {
    const item = this.item++ - stamp.firstItem;
    const raw = rejectRaw(document.sentText(record));
    this.rejects.put({ fetch_id: stamp.fetchId, item, day: stamp.observedOn, reason, detail, raw });
    this.counts.rejects++;
  }

  /** A row that is a reject: its key is known, so it is not asked for again before there is a reason to. */
  private putUnreadable(keys: readonly AskedKey[], fault: string, body: Uint8Array, stamp: FetchStamp): void {
    // What is not JSON may hold what no text column can.
    const raw = rejectRaw(bodyText(body).replaceAll('\0', ''));
    for (const key of keys)
      this.rows.put(
        this.mapper
          .head(key, this.item++, stamp, 'found', null)
          .put('_b', fault)
          .put('_raw', raw),
      );
    this.counts.keys += keys.length;
    this.counts.records += keys.length;
    this.counts.rejects += keys.length;
    this.counts.rejectedKeys += keys.length;
  }

  private countDrift(document: ExactDocument, isSound: boolean, { fetchId }: FetchStamp): void {
    const { records } = this.reading;
    for (const { kind, name, count } of document.fixes) this.drift.add(fetchId, kind, name, '', count);
    if (!isSound) this.drift.add(fetchId, 'invalid_utf8', records ?? 'payload', '');
    if (records === null) return;
    for (const [name, value] of document.value as ReadonlyMap<string, ExactJson>)
      if (name !== records) this.drift.add(fetchId, 'unknown_member', name, exactText(value));
  }

  private note({ fetchId }: FetchStamp): (kind: string, field: string, example: string) => void {
    return (kind, field, example) => {
      if (!this.reading.isTolerant) this.drift.add(fetchId, kind, field, example);
    };
  }

  /** Whether the answer says which keys there are. */
  private isList(): boolean {
    return this.pipeline.source.kind === 'list';
  }

  private sinks(): LineSink[] {
    return [this.rows, this.rejects, ...this.children];
  }

  private async flush(): Promise<void> {
    await Promise.all(this.sinks().map((sink) => sink.flush()));
  }
}

function recordsIn(reading: Reading, document: ExactDocument): readonly ExactJson[] {
  const records = listIn(reading, document);
  for (const record of records) for (const member of reading.needs) demandMember(record, member);
  return records;
}

function demandMember(record: ExactJson, member: string): void {
  if (!isExactObject(record))
    throw new EtlError('failed', 'not_an_object', `a record of the answer is ${kindOf(record)}, not an object`);
  if ((plainText(record.get(member)) ?? '') !== '') return;
  throw new EtlError('failed', `no_${member}`, `a record of the answer has no ${member}`);
}

function listIn({ records, mostBytes, mayBeAnything }: Reading, document: ExactDocument): readonly ExactJson[] {
  const { value } = document;
  if (mostBytes < LIMITS.lookupAnswerBytes && document.sentText(value).length > mostBytes)
    throw new EtlError('failed', 'answer_too_large', `the answer is larger than ${mostBytes} bytes`);
  if (records === null && mayBeAnything) return [value];
  const expected = records === null ? 'an object' : `an object with ${records}`;
  if (!isExactObject(value))
    throw new EtlError('failed', 'not_an_object', `the answer is ${kindOf(value)}, not ${expected}`);
  if (records === null) return [value];
  const list = value.get(records);
  if (isExactArray(list)) return list;
  const what = list === undefined ? `has no ${records}` : `has ${records} that are ${kindOf(list)}`;
  throw new EtlError('failed', `no_${records}`, `the answer ${what}`);
}

/** Of a list everything counts or nothing: what is not on it is gone, and what cannot be read would be taken for gone. */
function demandAll(rejected: readonly { readonly fault: Fault }[]): void {
  const bad = rejected.find(({ fault }) => fault.reason !== 'conflicting_key');
  if (bad) throw new EtlError('failed', bad.fault.reason, `a record of the list cannot be read: ${bad.fault.detail}`);
}

/** Why the body cannot be kept as JSON, as `code:words`; null where it can. `unread` in a key: why it was not even stored. */
function unreadable({ mostBytes }: Reading, keys: readonly AskedKey[], body: Uint8Array): string | null {
  const unread = keys[0]?.unread;
  if (typeof unread === 'string') return unread;
  if (body.length > mostBytes) return `answer_too_large:it is larger than ${mostBytes} bytes`;
  try {
    documentOf(body);
    return null;
  } catch (error) {
    if (!(error instanceof EtlError) || error.code !== 'not_json') throw error;
    return 'not_json:payload';
  }
}

function damaged(fetch: FetchRecord, why: string): EtlError {
  return new EtlError('failed', 'damaged_answer', `the answer of fetch ${fetch.fetch_id} cannot be read: ${why}`, {
    concern: { pipeline: fetch.pipeline, requestId: fetch.fetch_id },
  });
}
