import { describe, expect, it } from 'vitest';
import type { Cause, CauseKind } from '../../../src/run/alerts/cause.ts';
import {
  type AlertState,
  alertState,
  mayTry,
  NOTHING_SENT,
  newsFor,
  noticed,
  whenFailed,
  whenSent,
  withoutOld,
} from '../../../src/run/alerts/sent.ts';

const START_MS = Date.parse('2026-03-20T05:00:00Z');
const HOUR = 60;

function cause(key: string, kind: CauseKind = 'slice_held'): Cause {
  return { key, kind, what: `${key} is so`, since: '2026-03-20T04:00:00.000Z', means: 'm', look: 'l', fix: 'd' };
}

/** One look: at this minute, what is there, and which channels are down. */
type Look = readonly [minute: number, there: readonly string[], down?: readonly string[]];

/** What each look tells, as `a +new ~lasting -resolved`, by channel; the state goes through JSON as it does through the file. */
function play(looks: readonly Look[], channels: readonly string[] = ['a'], kind?: CauseKind) {
  let state: AlertState = NOTHING_SENT;
  const sent: string[] = [];
  for (const [minute, there, down = []] of looks) {
    const nowMs = START_MS + minute * 60_000;
    state = noticed(
      state,
      there.map((key) => cause(key, kind)),
      nowMs,
    );
    for (const channel of channels) {
      const news = newsFor(state, channel, 24, nowMs);
      const keys = (mark: string, all: typeof news.begun) => all.map((entry) => `${mark}${entry.cause.key}`);
      const words = [...keys('+', news.begun), ...keys('~', news.lasting), ...keys('-', news.resolved)];
      if (words.length === 0 || !mayTry(state, channel, nowMs)) continue;
      state = down.includes(channel) ? whenFailed(state, channel, nowMs) : whenSent(state, channel, news, nowMs);
      sent.push(`${minute} ${channel}${down.includes(channel) ? ' failed' : ''} ${words.join(' ')}`);
    }
    state = alertState.parse(JSON.parse(JSON.stringify(withoutOld(state, channels, nowMs))));
  }
  return { sent, state };
}

describe('what is sent', () => {
  it.each<[string, readonly Look[], readonly string[]]>([
    [
      'a cause once, however often it is looked',
      [
        [0, ['x']],
        [5, ['x']],
        [10, ['x']],
      ],
      ['0 a +x'],
    ],
    [
      'once more when it is gone',
      [
        [0, ['x']],
        [5, []],
        [10, []],
      ],
      ['0 a +x', '5 a -x'],
    ],
    [
      'several at once as one message',
      [
        [0, ['x', 'y']],
        [5, ['y']],
      ],
      ['0 a +x +y', '5 a -x'],
    ],
    [
      'again after a day while it lasts',
      [
        [0, ['x']],
        [23 * HOUR, ['x']],
        [24 * HOUR, ['x']],
      ],
      ['0 a +x', '1440 a ~x'],
    ],
    [
      'a cause that flaps twice in six hours and no more',
      [
        [0, ['x']],
        [5, []],
        [10, ['x']],
        [15, []],
        [20, ['x']],
        [359, ['x']],
        [360, ['x']],
      ],
      ['0 a +x', '5 a -x', '360 a +x'],
    ],
    [
      'a cause that comes back after six hours anew',
      [
        [0, ['x']],
        [5, []],
        [400, ['x']],
      ],
      ['0 a +x', '5 a -x', '400 a +x'],
    ],
    [
      'what could not be delivered, after a pause that doubles',
      [
        [0, ['x'], ['a']],
        [0.5, ['x'], ['a']],
        [1, ['x'], ['a']],
        [2, ['x'], ['a']],
        [3, ['x']],
        [4, ['x']],
      ],
      ['0 a failed +x', '1 a failed +x', '3 a +x'],
    ],
    [
      'nothing of a cause that came and went undelivered',
      [
        [0, ['x'], ['a']],
        [5, []],
        [9, []],
      ],
      ['0 a failed +x'],
    ],
    [
      'the end of a cause once it can be delivered',
      [
        [0, ['x']],
        [5, [], ['a']],
        [10, []],
        [15, []],
      ],
      ['0 a +x', '5 a failed -x', '10 a -x'],
    ],
    [
      'nothing of an end that was none',
      [
        [0, ['x']],
        [5, [], ['a']],
        [10, ['x']],
        [15, ['x']],
      ],
      ['0 a +x', '5 a failed -x'],
    ],
  ])('%s', (_, looks, expected) => {
    expect(play(looks).sent).toEqual(expected);
  });

  it('a channel that is down does not hold the others back', () => {
    const looks: Look[] = [
      [0, ['x'], ['b']],
      [5, ['x', 'y']],
      [9, []],
    ];
    expect(play(looks, ['a', 'b']).sent).toEqual([
      ...['0 a +x', '0 b failed +x', '5 a +y', '5 b +x +y'],
      ...['9 a -x -y', '9 b -x -y'],
    ]);
  });

  it('an event once and for all, and never its end', () => {
    const day = 24 * HOUR;
    const looks: Look[] = [
      [0, ['x']],
      [5, []],
      [2 * day, ['x']],
      [400 * day, ['x', 'y']],
    ];
    expect(play(looks, ['a'], 'drift_seen').sent).toEqual(['0 a +x', `${400 * day} a +y`]);
  });

  it('an event also through a channel that was down for days', () => {
    const looks: Look[] = [
      [0, ['x'], ['a']],
      [3000, [], ['a']],
      [6000, []],
    ];
    expect(play(looks, ['a'], 'drift_seen').sent).toEqual(['0 a failed +x', '3000 a failed +x', '6000 a +x']);
  });
});

describe('what is remembered', () => {
  it('is nothing of a cause that is gone, sent and quiet', () => {
    expect(
      play([
        [0, ['x']],
        [5, []],
        [6 * HOUR, []],
      ]).state,
    ).toEqual(NOTHING_SENT);
  });

  it('is nothing of a channel that is no more', () => {
    const { state } = play([[0, ['x'], ['a']]]);
    expect(withoutOld(state, [], START_MS).failing).toEqual({});
  });

  it('is since when a cause stands, whatever later looks say', () => {
    const later = { ...cause('x'), since: '2026-03-20T09:00:00.000Z', what: 'x is worse' };
    const state = noticed(noticed(NOTHING_SENT, [cause('x')], START_MS), [later], START_MS);
    expect(state.causes.x?.cause).toMatchObject({ since: '2026-03-20T04:00:00.000Z', what: 'x is worse' });
  });

  it('no clock that is set back silences a channel for longer than a pause', () => {
    const state = whenFailed(NOTHING_SENT, 'a', START_MS);
    expect([mayTry(state, 'a', START_MS), mayTry(state, 'a', START_MS - 1000 * 60 * 60)]).toEqual([false, true]);
  });
});
