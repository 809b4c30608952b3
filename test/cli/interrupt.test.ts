import { expect, test } from 'vitest';
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
