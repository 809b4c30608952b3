/** The body of a push message, against JSON.parse and the contract told a second time. */
import assert from 'node:assert/strict';
import { Buffer, isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { EtlError } from '../../../src/core/errors.ts';
import { type PushMessage, readPushMessage } from '../../../src/extract/push-message.ts';
import { exactText } from '../../../src/json/exact-json.ts';
import { alsoDamaged, choices, hostileText, jsonText, numberLiteral } from './hostile.ts';
import {
  depthOf,
  fixedValue,
  isMembers,
  isNumeral,
  type Members,
  member,
  type Plain,
  plainJson,
} from './plain-json.ts';
import { type Subject, utf8 } from './subject.ts';
import { isCalendarDay } from './values.ts';

/** Nesting and members beyond which a document is refused; this side of them it must be read. */
const SURELY_READ = { depth: 60, members: 1000 };

function prove(body: Uint8Array): void {
  const sound = plainJson(
    Buffer.from(body)
      .toString('utf8')
      .replace(/^\ufeff/, ''),
  );
  let message: PushMessage;
  try {
    const read = readPushMessage(body);
    assert.equal(read.isSoundUtf8, isUtf8(body));
    message = read.message;
  } catch (error) {
    assert.ok(error instanceof EtlError, String(error));
    assert.equal(error.kind, 'failed');
    if (error.code === 'not_json') assert.ok(sound === undefined || isExcessive(sound), error.message);
    else assert.ok(sound !== undefined && !isSoundMessage(fixedValue(sound)), error.message);
    return;
  }
  assert.notEqual(sound, undefined, 'what is no JSON was read as a message');
  const told = fixedValue(sound!) as Members;
  assert.ok(isSoundMessage(told), 'a message that breaks the contract was read');
  const event = member(told, 'event') as Members;
  const text = (value: Plain | undefined) => (isNumeral(value) ? value.number : value);
  assert.deepEqual(
    [message.retailerId, message.timestamp, message.resource, message.type, message.resourceId],
    [
      text(member(told, 'retailerId')),
      member(told, 'timestamp'),
      member(event, 'resource'),
      member(event, 'type'),
      text(member(event, 'resourceId')),
    ],
  );
  assert.equal(message.timestampMs, instantOf(message.timestamp));
  for (const name of ['metadata', 'links'] as const) {
    const there = member(event, name) ?? null;
    const read = message[name] === null ? null : plainJson(exactText(message[name]));
    assert.deepEqual(sorted(read ?? null), sorted(there), name);
  }
}

/** Members in the order of their names, of several of one name the last. */
function sorted(value: Plain): unknown {
  if (isMembers(value))
    return [...new Map(value.members.map(([name, one]) => [name, sorted(one)]))].sort(([a], [b]) => (a < b ? -1 : 1));
  return Array.isArray(value) ? value.map(sorted) : value;
}

function isExcessive(value: Plain): boolean {
  const isWide = (of: Plain): boolean =>
    isMembers(of)
      ? of.members.length > SURELY_READ.members || of.members.some(([, one]) => isWide(one))
      : Array.isArray(of) && (of as Plain[]).some(isWide);
  return isWide(value) || depthOf(value) > SURELY_READ.depth;
}

function isSoundMessage(told: Plain): boolean {
  const event = isMembers(told) ? member(told, 'event') : undefined;
  if (!isMembers(told) || !isMembers(event)) return false;
  const isName = (value: Plain | undefined, mayBeNumber: boolean) => {
    const text = mayBeNumber && isNumeral(value) ? value.number : value;
    return typeof text === 'string' && text.length >= 1 && text.length <= 128;
  };
  const isList = (value: Plain | undefined) =>
    value === undefined || value === null || (Array.isArray(value) && (value as Plain[]).every(isMembers));
  const timestamp = member(told, 'timestamp');
  return (
    isName(member(told, 'retailerId'), true) &&
    isName(member(event, 'resourceId'), true) &&
    isName(member(event, 'resource'), false) &&
    isName(member(event, 'type'), false) &&
    typeof timestamp === 'string' &&
    instantOf(timestamp) !== null &&
    isList(member(event, 'metadata')) &&
    isList(member(event, 'links'))
  );
}

/** By the language's own reader, once the text has the shape that is accepted. */
function instantOf(text: string): number | null {
  const shape = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d)(:[0-5]\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-8])(:?[0-5]\d)?)$/;
  const [, day = '', hour, minute, seconds = ':00', , zone = 'Z'] = shape.exec(text) ?? [];
  if (!isCalendarDay(day) || day < '1900' || day > '9998-12-31') return null;
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const [whole, fraction = ''] = seconds.split('.');
  return Date.parse(`${day}T${hour}:${minute}${whole}.${fraction.padEnd(3, '0').slice(0, 3)}${offset}`);
}

const { any } = fc.letrec<{ any: Plain }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    hostileText,
    numberLiteral.map((number) => ({ number })),
    fc.constantFrom<Plain>(null, true, false),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.array(fc.tuple(hostileText, tie('any')), { maxLength: 3 }).map((members) => ({ members })),
  ),
}));

const time = fc.oneof(
  fc.constantFrom(
    '2020-02-02T23:23:23+01:00',
    '2026-03-01T10:00Z',
    '2026-03-01T10:00:00.123456789Z',
    '2024-02-30T00:00:00Z',
  ),
  fc.constantFrom(
    '2026-03-01T24:00:00Z',
    '2026-03-01 10:00:00Z',
    '2026-03-01T10:00:00',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
  ),
  fc.stringMatching(
    /^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,10})?)?(Z|[+-][01][0-9](:?[0-6][0-9])?)$/,
  ),
);
const id: fc.Arbitrary<Plain> = fc.oneof(
  numberLiteral.map((number) => ({ number })),
  hostileText,
  fc.constant('x'.repeat(129)),
);
const list: fc.Arbitrary<Plain> = fc.oneof(
  fc.array(
    fc.array(fc.tuple(fc.constantFrom('key', 'value', 'href'), any), { maxLength: 3 }).map((members) => ({ members })),
    { maxLength: 3 },
  ),
  any,
);
const usually = (usual: fc.Arbitrary<Plain>): fc.Arbitrary<Plain> => fc.oneof({ weight: 9, arbitrary: usual }, any);
const some = <T>(members: fc.Arbitrary<T>[]) =>
  fc.tuple(...members.map((one) => fc.option(one, { freq: 12 }))) as fc.Arbitrary<(T | null)[]>;
const named = (name: string, value: fc.Arbitrary<Plain>) => value.map((one): [string, Plain] => [name, one]);
const present = (members: readonly ([string, Plain] | null)[]) => ({ members: members.filter((one) => one !== null) });

const event = some([
  named('resource', usually(fc.constantFrom('PROCESS_STATUS', 'SHIPMENT'))),
  named('type', usually(hostileText)),
  named('resourceId', usually(id)),
  named('metadata', list),
  named('links', list),
  fc.tuple(hostileText, any),
]).map(present);
const message = some([
  named('retailerId', usually(id)),
  named('timestamp', usually(time)),
  named('event', usually(event)),
  fc.tuple(hostileText, any),
]).map(present);

function write(json: Plain, next: () => number): string {
  if (typeof json === 'string') return jsonText(json, next);
  if (json === null || typeof json === 'boolean') return String(json);
  if (isNumeral(json)) return json.number;
  if (!isMembers(json)) return `[${json.map((one) => write(one, next)).join(', ')}]`;
  return `{${json.members.map(([name, one]) => `${jsonText(name, next)}:${write(one, next)}`).join(',')}}`;
}

export const pushBody: Subject = {
  name: 'push-body',
  extension: 'txt',
  inputs: alsoDamaged(fc.tuple(message, choices).map(([of, next]) => utf8(write(of, next)))),
  prove,
  shortRuns: 200,
  large: {
    'a text of 10 MB': () => utf8(`{"retailerId":1,"x":"${'x'.repeat(10 * 1024 * 1024)}"}`),
    'a million brackets': () => utf8('['.repeat(1_000_000)),
    'a hundred thousand members': () => utf8(`{${Array.from({ length: 100_000 }, (_, i) => `"${i}":1`).join(',')}}`),
  },
};
