/**
 * Deliveries of push messages → lines of the pipelines push-messages and push-deliveries, which read the same file: a line a delivery.
 *
 * For each delivery:  1 = a line + unreadable. What the receiver accepted can be read; only stricter rules could change that.
 */
import { isoTime } from '../core/clock.ts';
import { type Day, dayAt } from '../core/days.ts';
import { assert, EtlError } from '../core/errors.ts';
import type { DriftRecord } from '../core/records.ts';
import { type ExactJson, exactText, isExactObject } from '../json/exact-json.ts';
import { DriftCounts, Line, type LineFile, LineSink, rejectRaw } from '../sources/lines.ts';
import type { StoredDelivery } from '../store/tables/inbox.ts';
import { fullTimestamp, type PushMessage, type ReadPushMessage, readPushMessage } from './push-message.ts';

/** What the contract knows; anything else is kept and reported. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  PROCESS_STATUS: ['SUCCESS', 'FAILURE', 'TIMEOUT'],
  SHIPMENT: ['UPDATE_TRANSPORT_EVENT'],
};
/** So many lines are gathered before they go to the disk. */
const FLUSH_LINES = 256;

export interface DeliveryLines extends LineFile {
  /** The earliest day that a delivery was received on or a message tells of; null without a delivery. */
  readonly firstDay: Day | null;
  /** Lines of rejects: what cannot be read as a message. */
  readonly unreadable: LineFile;
  readonly drift: readonly DriftRecord[];
}

export interface TakenFetch {
  readonly deliveries: number;
  /** Epoch milliseconds of the earliest and the latest delivery; null without one. */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
}

export class PushLines {
  private readonly timeZone: string;
  private readonly lines: LineSink;
  private readonly unreadable: LineSink;
  private readonly drift: DriftCounts;
  /** Of all deliveries and messages. */
  private earliestMs = Number.POSITIVE_INFINITY;
  private minute: { readonly number: number; readonly day: Day } | null = null;
  /** Number of the next line or reject. */
  private item = 0;
  /** Number of the first one of the fetch. */
  private firstItem = 0;

  private constructor(pipeline: string, timeZone: string, lines: LineSink, unreadable: LineSink) {
    this.drift = new DriftCounts(pipeline);
    this.timeZone = timeZone;
    this.lines = lines;
    this.unreadable = unreadable;
  }

  /** Opens the files in a folder that is there; `pipeline`: its name; `timeZone` is that of days. */
  static async open(folder: string, pipeline: string, timeZone: string): Promise<PushLines> {
    const lines = await LineSink.open(folder, pipeline);
    return new PushLines(pipeline, timeZone, lines, await LineSink.open(folder, `${pipeline}.unreadable`));
  }

  /** Takes the deliveries of a fetch. Errors: those of reading them; what came before is taken then. */
  async take(fetchId: string, deliveries: AsyncIterable<StoredDelivery>): Promise<TakenFetch> {
    assert(/^[0-9A-Za-z-]+$/.test(fetchId), 'the id of a fetch has characters that no id has');
    this.firstItem = this.item;
    let count = 0;
    let [firstAtMs, lastAtMs]: [number | null, number | null] = [null, null];
    for await (const delivery of deliveries) {
      this.takeOne(fetchId, delivery);
      count++;
      const at = delivery.receivedAtMs;
      firstAtMs = Math.min(firstAtMs ?? at, at);
      lastAtMs = Math.max(lastAtMs ?? at, at);
      if (count % FLUSH_LINES === 0) await this.flush();
    }
    await this.flush();
    return { deliveries: count, firstAtMs, lastAtMs };
  }

  async close(): Promise<DeliveryLines> {
    const [lines, unreadable] = await Promise.all([this.lines.close(), this.unreadable.close()]);
    assert(this.item === lines.lines + unreadable.lines, 'a delivery went astray');
    const firstDay = this.item === 0 ? null : dayAt(this.earliestMs, this.timeZone);
    return { ...lines, firstDay, unreadable, drift: this.drift.report() };
  }

  private async flush(): Promise<void> {
    await Promise.all([this.lines.flush(), this.unreadable.flush()]);
  }

  private takeOne(fetchId: string, delivery: StoredDelivery): void {
    const day = this.dayOf(delivery.receivedAtMs);
    this.earliestMs = Math.min(this.earliestMs, delivery.receivedAtMs);
    const raw = rejectRaw(printable(delivery.body));
    try {
      const read = readPushMessage(delivery.body);
      this.earliestMs = Math.min(this.earliestMs, read.message.timestampMs);
      this.lines.put(this.lineOf(fetchId, delivery, read.message, day, raw));
      this.countDrift(fetchId, read);
    } catch (error) {
      if (!(error instanceof EtlError) || error.kind !== 'failed') throw error;
      const { code: reason, message: detail } = error;
      this.unreadable.put({ fetch_id: fetchId, item: this.item - this.firstItem, day, reason, detail, raw });
    }
    this.item++;
  }

  private lineOf(fetchId: string, delivery: StoredDelivery, message: PushMessage, day: Day, raw: string): Line {
    const at = isoTime(delivery.receivedAtMs);
    const shared = { fetchId, observedOn: day, observedFrom: at, firstItem: this.firstItem };
    const line = new Line(this.item, shared)
      .put('retailerId', message.retailerId)
      .putPlain('timestamp', fullTimestamp(message))
      .put('resource', message.resource)
      .put('type', message.type)
      .put('resourceId', message.resourceId);
    if (message.metadata !== null) line.put('metadata', this.drift.jsonText(fetchId, 'metadata', message.metadata));
    if (message.links !== null) line.put('links', this.drift.jsonText(fetchId, 'links', message.links));
    line
      .put('keyId', this.storable(fetchId, 'keyId', delivery.keyId))
      .put('sourceAddress', this.storable(fetchId, 'sourceAddress', delivery.sourceAddress))
      .putPlain('bodySha256', delivery.bodySha256)
      .putPlain('receivedOn', day)
      .putPlain('receivedAt', at)
      .putPlain('firstDeliveredAt', at)
      .putPlain('lastDeliveredAt', at)
      .putPlain('deliveries', '1')
      .putPlain('bodies', '1')
      .putPlain('deliveryId', delivery.deliveryId);
    if (message.extra !== null) line.put('_x', this.drift.jsonText(fetchId, 'extra', message.extra));
    return line.put('_raw', raw);
  }

  /** Deliveries come in the order of time, and no zone changes its day within a minute: to ask once a minute saves 6 µs a line. */
  private dayOf(ms: number): Day {
    const number = Math.floor(ms / 60_000);
    if (this.minute?.number !== number) this.minute = { number, day: dayAt(ms, this.timeZone) };
    return this.minute.day;
  }

  /** A text that came beside the body, without what Postgres cannot hold. */
  private storable(fetchId: string, field: string, text: string): string {
    const clean = text.replaceAll('\0', '');
    if (clean.length < text.length) this.drift.add(fetchId, 'nul_removed', field, '', text.length - clean.length);
    return clean;
  }

  private countDrift(fetchId: string, { message, fixes, isSoundUtf8, numbersAsText }: ReadPushMessage): void {
    const add = (kind: string, field: string, example: string, times = 1) =>
      this.drift.add(fetchId, kind, field, example, times);
    for (const { kind, name, count } of fixes) add(kind, name, '', count);
    if (!isSoundUtf8) add('invalid_utf8', 'body', '');
    for (const field of numbersAsText) add('text_as_number', field, message.resourceId);
    for (const [name, value] of unknownMembers(message)) add('unknown_field', name, exactText(value));
    const types = Object.hasOwn(TYPES, message.resource) ? TYPES[message.resource] : undefined;
    if (types === undefined) add('unknown_value', 'resource', message.resource);
    else if (!types.includes(message.type)) add('unknown_value', 'type', message.type);
  }
}

/** Those of the event as `event.<name>`. */
function unknownMembers({ extra }: PushMessage): [name: string, value: ExactJson][] {
  return [...(extra ?? [])].flatMap(([name, value]): [string, ExactJson][] =>
    name === 'event' && isExactObject(value)
      ? [...value].map(([inner, one]) => [`event.${inner}`, one])
      : [[name, value]],
  );
}

/** A body as text that both warehouses can hold: what is no UTF-8, and NUL, become U+FFFD. */
function printable(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8').replaceAll('\0', '\ufffd');
}
