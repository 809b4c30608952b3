import { describe, expect, it } from 'vitest';
import { bytesOf, everyByte, LIMITS_OF_TESTS, outcomeOf, someCuts, split, withNames } from './split-outcome.ts';

describe('an answer', () => {
  it.each([
    ['{"items":[]}', 0],
    [' \r\n\t{ "items" : [ ] } \n', 0],
    ['\ufeff{"items":[{}]}', 1],
    ['{"page":1,"items":[{},{}],"next":null}', 2],
    ['{"it\\u0065ms":[{}]}', 1],
    ['{"a":{"items":[1]},"items":[{}],"b":[{"items":[]}]}', 1],
  ])('%s has %d items', (answer, items) => {
    expect(outcomeOf(bytesOf(answer)).result).toMatchObject({ items, lines: items, rejects: 0 });
  });

  it.each(
    withNames([
      ['not_json', ['']],
      ['not_json', [' \n']],
      ['not_json', ['\ufeff']],
      ['not_json', [0xef, 0xbb, '{"items":[]}']],
      ['not_json', [' \ufeff{"items":[]}']],
      ['not_json', ['<!DOCTYPE html><html><body>Service unavailable</body></html>']],
      ['not_json', ['Too many requests']],
      ['not_json', ['not found']],
      ['not_json', [0x1f, 0x8b, 0x08]],
      ['not_an_object', ['[]']],
      ['not_an_object', ['[{"items":[]}]']],
      ['not_an_object', ['"items"']],
      ['not_an_object', ['null']],
      ['not_an_object', [' -1.5e3 ']],
      ['no_items', ['{}']],
      ['no_items', ['{"item":[]}']],
      ['no_items', ['{"items":null}']],
      ['no_items', ['{"items":{}}']],
      ['no_items', ['{"items":"[]"}']],
      ['no_items', ['{"Items":[]}']],
      ['no_items', ['{"error":{"items":[]}}']],
      ['second_items', ['{"items":[],"items":[]}']],
      ['second_items', ['{"items":[],"\\u0069tems":1}']],
      ['malformed', ['{items:[]}']],
      ['malformed', ['{"items"[]}']],
      ['malformed', ['{"items":}']],
      ['malformed', ['{"items":[],}']],
      ['malformed', ['{,"items":[]}']],
      ['malformed', ['{"items":[]]']],
      ['malformed', ['{"items":[{}}}']],
      ['malformed', ['{"items":[{}],"a":1 "b":2}']],
      ['malformed', ['{"items":[{},]}']],
      ['malformed', ['{"items":[,{}]}']],
      ['malformed', ['{"items":[{} {}]}']],
      ['malformed', ['{"items":[{}:{}]}']],
      ['malformed', ['{"items":[{"id":"a",}]}']],
      ['malformed', ['{"items":[{"id" "a"}]}']],
      ['malformed', ['{"items":[{"id":"a" "price":1}]}']],
      ['malformed', ['{"items":[{"id":}]}']],
      ['malformed', ['{"items":[{"id"}]}']],
      ['malformed', ['{"items":[{"id":"a"]}']],
      ['malformed', ['{"items":[{1:"a"}]}']],
      ['malformed', ['{"items":[{\'id\':1}]}']],
      ['malformed', ['{"items":[{"id":1 /* one */}]}']],
      ['malformed', ['{"items":[{"id":@}]}']],
      ['malformed', ['{"items":[{"price":1_000}]}']],
      ['malformed', ['{"items":[{"price":1é}]}']],
      ['malformed', ['{"items":[{"new":[1,]}]}']],
      ['malformed', ['{"items":[{"new":{"a":1,}}]}']],
      ['malformed', ['{"items":[[1,]]}']],
      ['malformed', ['{"items":[{"price":01,"new":[}]}']],
      ['malformed', ['{"items":[', 0x00, ']}']],
      ['malformed', ['{"items":[', 0x0b, ']}']],
      ['malformed', ['{"items":[', 0xa0, ']}']],
      ['malformed', ['{"a":01,"items":[]}']],
      ['malformed', ['{"a":"\\q","items":[]}']],
      ['malformed', ['{"items":[],"a":"', 0xff, '"}']],
      ['malformed', ['{"a":1,"items":[],"a":1}']],
      ['malformed', ['{"a":[{"b":1,"b":2}],"items":[]}']],
      ['malformed', ['{"a":1,"items":[{"new":{"b":01}}],"a":2}']],
      ['malformed', [`{"a":${'['.repeat(9)}${']'.repeat(9)},"items":[]}`]],
      ['malformed', [`{"a":"${'x'.repeat(2000)}","items":[],"b":"${'x'.repeat(3000)}"}`]],
      ['after_end', ['{"items":[]}{"items":[]}']],
      ['after_end', ['{"items":[]},']],
      ['after_end', ['{"items":[]}}']],
      ['after_end', ['{"items":[]}\n', 0x00]],
    ]),
  )('is refused as a whole for $reason: $name', ({ reason, parts }) => {
    const { refused } = outcomeOf(bytesOf(...parts));
    expect(refused).toMatchObject({ code: reason });
    expect(refused!.message).toMatch(/^the answer .*\(byte \d+/s);
    expect(refused!.message.length).toBeLessThan(240);
  });

  it('that ends in the middle, anywhere, is refused as cut', () => {
    const answer = bytesOf(
      ' {"page":[1,"a"],"items":[{"id":"caf\u00e9 \\ud83d\\ude00","price":1.5,"new":{"a":[true,null]}},{}],"z":{}}',
    );
    expect(outcomeOf(answer).result).toMatchObject({ items: 2, lines: 2 });
    for (let length = 2; length < answer.length; length++) {
      const { refused } = outcomeOf(answer.slice(0, length));
      expect([length, refused?.code]).toEqual([length, 'cut']);
    }
  });

  it('is refused with the byte and what stood before it', () => {
    const { refused } = outcomeOf(bytesOf('{"items":[{"id":"a"},{"id":"b"};{"id":"c"}]}'));
    expect(refused!.message).toBe(
      'the answer has `;` where a comma or closing bracket must stand (byte 31, after `{"items":[{"id":"a"},{"id":"b"};`)',
    );
  });

  it('is refused where it outgrows its limit, but not for an earlier end', () => {
    const answer = bytesOf(`{"items":[${'{},'.repeat(50)}{}]}`);
    const limits = { ...LIMITS_OF_TESTS, answerBytes: answer.length };
    expect(split(answer, [], [], limits).result).toMatchObject({ lines: 51 });
    const cuts = [[], everyByte(answer), someCuts(answer, 3)];
    const tight = { ...limits, answerBytes: answer.length - 1 };
    const codes = cuts.map((cut) => split(answer, cut, [], tight).refused);
    expect(codes[0]).toMatchObject({ code: 'answer_too_large' });
    expect(codes[1]).toEqual(codes[0]);
    expect(codes[2]).toEqual(codes[0]);
  });
});
