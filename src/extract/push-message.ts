/**
 * A push message as the service means it: {retailerId, timestamp, event: {resource, type, resourceId, metadata, links}}.
 *
 * An id may come as a number or as a text; metadata and links may be absent, null or empty; members that the contract does not
 * know are kept. What makes the identity of a message (retailer, resource, type, id, timestamp) must be there and sound, and
 * fit a key of both warehouses: a message that is parsed here becomes a row.
 */
import { isUtf8 } from 'node:buffer';
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import {
  type ExactDocument,
  type ExactJson,
  ExactNumber,
  type ExactObject,
  type Fix,
  isExactArray,
  isExactObject,
  parseDocument,
} from '../json/exact-json.ts';
import { kindOf } from '../sources/values.ts';

/** Texts are foreign: hostile until escaped. */
export interface PushMessage {
  readonly retailerId: string;
  /** As sent. */
  readonly timestamp: string;
  /** The same as epoch milliseconds; finer fractions are cut off. */
  readonly timestampMs: number;
  readonly resource: string;
  readonly type: string;
  readonly resourceId: string;
  /** An array of objects as sent; null where none was. */
  readonly metadata: ExactJson | null;
  readonly links: ExactJson | null;
  /** Members that the contract does not know, those of the event as member `event`; null where there are none. */
  readonly extra: ExactObject | null;
}

/** A message with what a contract would not have said about it. */
export interface ReadPushMessage {
  readonly message: PushMessage;
  /** What was fixed in its texts. */
  readonly fixes: readonly Fix[];
  /** The body is UTF-8; of one that is not, the wrong bytes are U+FFFD. */
  readonly isSoundUtf8: boolean;
  /** Ids that came as a number though they are texts. */
  readonly numbersAsText: readonly string[];
}

/**
 * Takes the body of a message. Errors: `failed/not_json`, and `failed/bad_message`, which says which member is wrong and what is
 * accepted; neither repeats what was sent.
 */
export function parsePushMessage(body: Uint8Array): PushMessage {
  return readPushMessage(body).message;
}

/** The same with what differs from the contract. */
export function readPushMessage(body: Uint8Array): ReadPushMessage {
  const { value, fixes } = documentIn(body);
  if (!isExactObject(value)) throw badMessage(`the message is ${kindOf(value)}, not an object`);
  const event = value.get('event');
  if (!isExactObject(event)) throw badMessage('event must be an object');
  const timestamp = timestampIn(value.get('timestamp'));
  const message: PushMessage = {
    retailerId: nameIn(value, 'retailerId', '', true),
    timestamp: timestamp.text,
    timestampMs: timestamp.ms,
    resource: nameIn(event, 'resource', 'event.', false),
    type: nameIn(event, 'type', 'event.', false),
    resourceId: nameIn(event, 'resourceId', 'event.', true),
    metadata: objectsIn(event, 'metadata'),
    links: objectsIn(event, 'links'),
    extra: extraOf(value, event),
  };
  const numbersAsText = event.get('resourceId') instanceof ExactNumber ? ['resourceId'] : [];
  return { message, fixes, isSoundUtf8: isUtf8(body), numbersAsText };
}

function documentIn(body: Uint8Array): ExactDocument {
  try {
    return parseDocument(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new EtlError('failed', 'not_json', `the message is no JSON: ${cause.message}`, { cause });
  }
}

function badMessage(what: string): EtlError {
  return new EtlError('failed', 'bad_message', what);
}

/** One of the texts that name a message. */
function nameIn(object: ExactObject, member: string, prefix: string, mayBeNumber: boolean): string {
  const value = object.get(member);
  const text = mayBeNumber && value instanceof ExactNumber ? value.text : value;
  const isName = typeof text === 'string' && text !== '' && text.length <= LIMITS.pushNameChars;
  if (isName) return text;
  const accepted = mayBeNumber ? 'a text or a number' : 'a text';
  throw badMessage(`${prefix}${member} must be ${accepted} of 1 to ${LIMITS.pushNameChars} characters`);
}

function objectsIn(event: ExactObject, member: string): ExactJson | null {
  const value = event.get(member);
  if (value === undefined || value === null) return null;
  if (isExactArray(value) && value.every(isExactObject)) return value;
  throw badMessage(`event.${member} must be an array of objects, null or absent`);
}

const MEMBERS: ReadonlySet<string> = new Set(['retailerId', 'timestamp', 'event']);
const EVENT_MEMBERS: ReadonlySet<string> = new Set(['resource', 'type', 'resourceId', 'metadata', 'links']);

function extraOf(message: ExactObject, event: ExactObject): ExactObject | null {
  const extra = new Map([...message].filter(([name]) => !MEMBERS.has(name)));
  const ofEvent = new Map([...event].filter(([name]) => !EVENT_MEMBERS.has(name)));
  if (ofEvent.size > 0) extra.set('event', ofEvent);
  return extra.size > 0 ? extra : null;
}

/** Java leaves the seconds out when they are 0, and writes up to nine digits of their fraction. */
const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)$/;
/** In every zone the day of such a time has four digits, and every engine can hold it. */
const YEARS = { first: 1900, last: 9998 } as const;
/** The largest that ISO 8601 libraries take; real ones reach 14. */
const OFFSET_HOURS = 18;

function timestampIn(value: ExactJson | undefined): { readonly text: string; readonly ms: number } {
  const ms = typeof value === 'string' ? instantOf(value) : null;
  if (typeof value === 'string' && ms !== null) return { text: value, ms };
  throw badMessage('timestamp must be a time as yyyy-MM-ddTHH:mm:ss with an offset (+01:00) or Z');
}

/** Epoch milliseconds; null for what is no time. */
function instantOf(text: string): number | null {
  const parts = TIMESTAMP.exec(text);
  if (!parts) return null;
  const number = (i: number) => Number(parts[i] ?? 0);
  const [year, month, day, hour, minute, second] = [number(1), number(2), number(3), number(4), number(5), number(6)];
  const [offsetHours, offsetMinutes] = [number(9), number(10)];
  if (year < YEARS.first || year > YEARS.last || hour > 23 || minute > 59 || second > 59) return null;
  if (offsetHours > OFFSET_HOURS || offsetMinutes > 59) return null;
  const midnightMs = Date.UTC(year, month - 1, day);
  const date = new Date(midnightMs);
  // 30 February is a day of March for the calendar here.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const fractionMs = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  const aheadMs = (offsetHours * 60 + offsetMinutes) * 60_000 * (parts[8] === '-' ? -1 : 1);
  return midnightMs + ((hour * 60 + minute) * 60 + second) * 1000 + fractionMs - aheadMs;
}

/** The timestamp as engines read it, which want the seconds. */
export function fullTimestamp({ timestamp }: PushMessage): string {
  return timestamp.charAt('yyyy-MM-ddTHH:mm'.length) === ':'
    ? timestamp
    : `${timestamp.slice(0, 16)}:00${timestamp.slice(16)}`;
}
