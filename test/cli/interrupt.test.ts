import { expect, test } from 'vitest';
import { stopReason } from '../../src/cli/stop-request.ts';
import { EtlError } from '../../src/core/errors.ts';
import { fakeContext } from './surroundings.ts';

test('the first Ctrl-C asks for a clean end and says so', () => {
  const { context, interrupt, stderr, exits } = fakeContext();
  expect(context.signal.aborted).toBe(false);
  interrupt.press('SIGINT');
  expect(context.signal.aborted).toBe(true);
  expect(context.signal.reason).toBeInstanceOf(EtlError);
  expect(context.signal.reason).toMatchObject({ kind: 'failed', code: 'interrupted' });
  expect(stderr.lines).toEqual(['finishing the slice in hand, press again to stop at once']);
  expect(exits).toEqual([]);
});

test.each<['SIGINT' | 'SIGTERM', number]>([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('a second one, %s, ends the program at once with %i', (name, code) => {
  const { interrupt, stderr, exits } = fakeContext();
  interrupt.press('SIGINT');
  interrupt.press(name);
  expect(exits).toEqual([code]);
  expect(stderr.lines).toHaveLength(1);
});

test('a run that is asked to stop by what began it has not been interrupted: the first signal is still the first', () => {
  const { context, interrupt, stderr, exits } = fakeContext();
  const stop = { code: 'run_limit', message: 'at its limit', hint: 'wait' };
  interrupt.ask(stopReason({ stop }));
  expect(context.signal.reason).toMatchObject(stop);
  interrupt.ask(stopReason(null));
  expect(context.signal.reason).toMatchObject(stop);
  interrupt.press('SIGINT');
  expect([exits, stderr.lines.length]).toEqual([[], 1]);
  interrupt.press('SIGINT');
  expect(exits).toEqual([130]);
});

test.each([null, undefined, 'stop', { stop: true }, { stop: { code: 1 } }])(
  '%j means that who began the run is gone',
  (message) => {
    expect(stopReason(message)).toMatchObject({
      code: 'interrupted',
      message: 'the serve that began this run is gone',
    });
  },
);

test('what hangs ends the program as failed', () => {
  const { interrupt, stderr, exits } = fakeContext();
  interrupt.giveUp('it hangs');
  expect([exits, stderr.lines]).toEqual([[1], ['it hangs']]);
});
