import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import { fullTimestamp, parsePushMessage, readPushMessage } from '../../src/extract/push-message.ts';
import { exactText } from '../../src/json/exact-json.ts';

const DOCUMENTED =
  '{"retailerId":1234567,"timestamp":"2020-02-02T23:23:23+01:00","event":{"resource":"PROCESS_STATUS","type":"SUCCESS","resourceId":"1234567"}}';

const parse = (text: string) => parsePushMessage(Buffer.from(text));

/** The documented example with other members, as JSON texts; null leaves one out. */
function message(members: Readonly<Record<string, string | null>> = {}, event: typeof members = {}): string {
  const inner = {
    resource: '"PROCESS_STATUS"',
    type: '"SUCCESS"',
    resourceId: '"1234567"',
    ...event,
  };
  const outer = {
    retailerId: '1234567',
    timestamp: '"2020-02-02T23:23:23+01:00"',
    event: objectText(inner),
    ...members,
  };
  return objectText(outer);
}

function objectText(members: Readonly<Record<string, string | null>>): string {
  const present = Object.entries(members).filter(([, value]) => value !== null);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

describe('a message', () => {
  test('is what the documented example says', () => {
    expect(parse(DOCUMENTED)).toEqual({
      retailerId: '1234567',
      timestamp: '2020-02-02T23:23:23+01:00',
      timestampMs: Date.parse('2020-02-02T22:23:23Z'),
      resource: 'PROCESS_STATUS',
      type: 'SUCCESS',
      resourceId: '1234567',
      metadata: null,
      links: null,
      extra: null,
    });
  });

  test.each([
    ['a number beyond 2^53', '9007199254740993', '9007199254740993'],
    [
      'a number of forty digits',
      '1234567890123456789012345678901234567890',
      '1234567890123456789012345678901234567890',
    ],
    ['a text', '"0012"', '0012'],
    ['a text of one character outside of the first plane', '"😀"', '😀'],
    ['a number with an exponent, as it was written', '1e3', '1e3'],
  ])('has ids exactly as they came: %s', (_, json, text) => {
    const { retailerId, resourceId } = parse(message({ retailerId: json }, { resourceId: json }));
    expect([retailerId, resourceId]).toEqual([text, text]);
  });

  test.each([
    ['absent', null, null],
    ['null', 'null', null],
    ['empty', '[]', '[]'],
    ['objects', '[{"key":"k","value":"v"},{"value":1.10,"deep":{"b":[1],"a":null}}]', undefined],
    ['objects without members', '[{}]', '[{}]'],
  ])('may have metadata and links that are %s', (_, json, text) => {
    const { metadata, links } = parse(message({}, { metadata: json, links: json }));
    const expected = text === undefined ? '[{"key":"k","value":"v"},{"deep":{"a":null,"b":[1]},"value":1.10}]' : text;
    expect([metadata, links].map((one) => one && exactText(one))).toEqual([expected, expected]);
  });

  test('keeps members that the contract does not know, those of the event inside of it', () => {
    const { extra } = parse(message({ a: '1.50', timeStamp: '{}' }, { b: '[null]', c: '"x"' }));
    expect(extra && exactText(extra)).toBe('{"a":1.50,"event":{"b":[null],"c":"x"},"timeStamp":{}}');
  });

  test('may have members whose names mean something to the language', () => {
    const { retailerId, extra } = parse(`{"__proto__":{"retailerId":2},"constructor":1,${DOCUMENTED.slice(1)}`);
    expect([retailerId, extra && exactText(extra)]).toEqual([
      '1234567',
      '{"__proto__":{"retailerId":2},"constructor":1}',
    ]);
  });

  test('has names as long as the limit says', () => {
    const name = 'é'.repeat(LIMITS.pushNameChars);
    const json = JSON.stringify(name);
    expect(parse(message({}, { resource: json, type: json, resourceId: json }))).toMatchObject({
      resource: name,
      type: name,
      resourceId: name,
    });
  });

  test.each([
    ['a byte order mark', `\ufeff${DOCUMENTED}`],
    ['white space around it', `\r\n\t ${DOCUMENTED} \n`],
    [
      'its members in another order',
      '{"event":{"resourceId":"1234567","type":"SUCCESS","resource":"PROCESS_STATUS"},"timestamp":"2020-02-02T23:23:23+01:00","retailerId":1234567}',
    ],
  ])('means the same with %s', (_, text) => {
    expect(parse(text)).toEqual(parse(DOCUMENTED));
  });

  test('may be fixed; then that is told', () => {
    const body = Buffer.from(
      message({}, { resource: '"A\\u0000\\ud800"', type: '"x","type":"SUCCESS"', resourceId: '7' }),
    );
    const { message: read, fixes, numbersAsText, isSoundUtf8 } = readPushMessage(body);
    expect(read).toMatchObject({ resource: 'A\ufffd', type: 'SUCCESS', resourceId: '7' });
    expect(fixes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'lone_surrogate resource',
      'nul_removed resource',
      'duplicate_key type',
    ]);
    expect([numbersAsText, isSoundUtf8]).toEqual([['resourceId'], true]);
  });

  test('may hold bytes that are no UTF-8; then that is told', () => {
    const body = Buffer.from(DOCUMENTED.replace('PROCESS_STATUS', 'é'), 'latin1');
    const { message: read, isSoundUtf8 } = readPushMessage(body);
    expect([read.resource, isSoundUtf8]).toEqual(['\ufffd', false]);
  });
});

describe('a timestamp', () => {
  test.each([
    ['2020-02-02T23:23:23+01:00', '2020-02-02T22:23:23.000Z'],
    ['2020-02-02T23:23:23Z', '2020-02-02T23:23:23.000Z'],
    ['2020-02-02T23:23Z', '2020-02-02T23:23:00.000Z'],
    ['2020-02-02T23:23+01:00', '2020-02-02T22:23:00.000Z'],
    ['2020-02-02T23:23:23.1Z', '2020-02-02T23:23:23.100Z'],
    ['2020-02-02T23:23:23.123456789-05:30', '2020-02-03T04:53:23.123Z'],
    ['2020-02-02T23:23:23+0100', '2020-02-02T22:23:23.000Z'],
    ['2020-02-02T23:23:23+01', '2020-02-02T22:23:23.000Z'],
    ['2020-02-02T00:00:00+18:00', '2020-02-01T06:00:00.000Z'],
    ['2020-02-29T00:00:00-00:00', '2020-02-29T00:00:00.000Z'],
    ['1900-01-01T00:00:00Z', '1900-01-01T00:00:00.000Z'],
    ['9998-12-31T23:59:59.999Z', '9998-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, instant) => {
    const read = parse(message({ timestamp: `"${text}"` }));
    expect(read.timestamp).toBe(text);
    expect(new Date(read.timestampMs).toISOString()).toBe(instant);
    expect(fullTimestamp(read)).toMatch(/T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d)/);
  });

  test.each([
    '2020-02-02T23:23:23',
    '2020-02-02 23:23:23Z',
    '2020-02-02',
    '2020-02-02T23Z',
    '2020-02-30T23:23:23Z',
    '2021-02-29T23:23:23Z',
    '2020-00-02T23:23:23Z',
    '2020-13-02T23:23:23Z',
    '2020-02-00T23:23:23Z',
    '2020-02-02T24:00:00Z',
    '2020-02-02T23:60:23Z',
    '2020-02-02T23:23:60Z',
    '2020-02-02T23:23:23+19:00',
    '2020-02-02T23:23:23+01:60',
    '2020-02-02T23:23:23.Z',
    '2020-02-02T23:23:23,5Z',
    '2020-02-02T23:23:23.1234567890Z',
    '2020-02-02t23:23:23z',
    '20200202T232323Z',
    '+002020-02-02T23:23:23Z',
    '-000001-02-02T23:23:23Z',
    '1899-12-31T23:59:59Z',
    '9999-01-01T00:00:00Z',
    ' 2020-02-02T23:23:23Z',
    '2020-02-02T23:23:23Z\\n',
    '２０２０-02-02T23:23:23Z',
    'now',
    '',
  ])('%j is refused', (text) => {
    expect(() => parse(message({ timestamp: `"${text}"` }))).toThrow(
      expect.objectContaining({
        kind: 'failed',
        code: 'bad_message',
        message: expect.stringMatching(/^timestamp must/),
      }),
    );
  });
});

describe('refused is', () => {
  const name = (member: string) =>
    new RegExp(`^${member.replace('.', '\\.')} must be a text.* of 1 to 128 characters$`);
  const objects = (member: string) => new RegExp(`^event\\.${member} must be an array of objects, null or absent$`);
  const LONG = JSON.stringify('x'.repeat(LIMITS.pushNameChars + 1));

  test.each<[string, string, RegExp]>([
    ['an array', '[]', /^the message is an array, not an object$/],
    ['a text', '"x"', /is a text/],
    ['a number', '1', /is a number/],
    ['null', 'null', /is null/],
    ['a message without an event', message({ event: null }), /^event must be an object$/],
    ['an event that is null', message({ event: 'null' }), /^event must/],
    ['an event that is a list', message({ event: '[{}]' }), /^event must/],
    ['an event that is a text', message({ event: '"{}"' }), /^event must/],
    ['a timestamp that is missing', message({ timestamp: null }), /^timestamp must/],
    ['a timestamp that is a number', message({ timestamp: '1580682203' }), /^timestamp must/],
    ...(['retailerId', 'event.resource', 'event.type', 'event.resourceId'] as const).flatMap((member) =>
      ([null, 'null', '""', '"\\u0000"', LONG, 'true', '{}', '["x"]'] as const).map(
        (json): [string, string, RegExp] => [
          `${member} that is ${json === null ? 'missing' : json.slice(0, 10)}`,
          member === 'retailerId' ? message({ retailerId: json }) : message({}, { [member.slice(6)]: json }),
          name(member),
        ],
      ),
    ),
    ['a resource that is a number', message({}, { resource: '1' }), name('event.resource')],
    ['a type that is a number', message({}, { type: '1' }), name('event.type')],
    ['an id of too many digits', message({ retailerId: '1'.repeat(129) }), name('retailerId')],
    ...(['metadata', 'links'] as const).flatMap((member) =>
      ['{}', '"x"', '""', '1', 'false', '[1]', '[null]', '[[]]', '[{},"x"]'].map((json): [string, string, RegExp] => [
        `${member} that are ${json}`,
        message({}, { [member]: json }),
        objects(member),
      ]),
    ),
  ])('%s, and says why', (_, text, why) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ kind: 'failed', code: 'bad_message', message: expect.stringMatching(why) }),
    );
  });

  test.each([
    ['nothing', ''],
    ['white space', '  '],
    ['a beginning', DOCUMENTED.slice(0, -1)],
    ['two documents', `${DOCUMENTED}${DOCUMENTED}`],
    ['a page', '<html></html>'],
    ['a name without quotes', '{retailerId:1}'],
    ['100,000 brackets', '['.repeat(100_000)],
    ['a NUL byte', DOCUMENTED.replace('SUCCESS', 'SUC\0CESS')],
    [
      'an object of too many members',
      message({}, { metadata: `[{${Array.from({ length: 1001 }, (_, i) => `"${i}":1`).join(',')}}]` }),
    ],
  ])('%s: no JSON', (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ kind: 'failed', code: 'not_json' }));
  });

  test('without repeating what was sent', () => {
    const texts = [
      message({ timestamp: '"SECRET"' }),
      message({}, { resource: `"${'SECRET'.repeat(30)}"` }),
      '{"a":SECRET}',
    ];
    for (const text of texts)
      expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('SECRET') }));
  });
});
