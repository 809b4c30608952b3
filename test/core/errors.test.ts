import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { asEtlError, assert, type ErrorKind, EtlError, exitCodeOf } from '../../src/core/errors.ts';

describe('an error', () => {
  it.each<[ErrorKind, number]>([
    ['usage', 2],
    ['retry', 1],
    ['failed', 1],
    ['refused', 4],
    ['locked', 75],
    ['bug', 1],
  ])('of kind %s ends the program with %i', (kind, code) => {
    expect(exitCodeOf(new EtlError(kind, 'x', 'x'))).toBe(code);
  });

  it('without details has none', () => {
    const error = new EtlError('failed', 'x', 'what failed');
    expect(error).toMatchObject({ name: 'EtlError', message: 'what failed', concern: {} });
    expect([error.hint, error.cause, error.retryAfterMs]).toEqual([undefined, undefined, undefined]);
    expect('cause' in error).toBe(false);
  });
});

describe('more that is known of what an error concerns', () => {
  const cause = new Error('deeper');
  const error = new EtlError('retry', 'busy', 'busy now', {
    hint: 'wait',
    concern: { pipeline: 'orders', requestId: 'f1' },
    cause,
    retryAfterMs: 4000,
  });

  it('is added, and the rest of the error stays', () => {
    const more = error.about({ window: '2026-03-01..2026-03-07' });
    expect(more).toBeInstanceOf(EtlError);
    expect(more).toMatchObject({ kind: 'retry', code: 'busy', message: 'busy now', hint: 'wait', retryAfterMs: 4000 });
    expect(more.cause).toBe(cause);
    expect(more.concern).toEqual({ pipeline: 'orders', requestId: 'f1', window: '2026-03-01..2026-03-07' });
  });

  it('does not overrule what was known where it arose, and leaves the error itself as it was', () => {
    expect(error.about({ pipeline: 'promotions', day: '2026-03-01' }).concern).toMatchObject({
      pipeline: 'orders',
      day: '2026-03-01',
    });
    expect(error.concern).toEqual({ pipeline: 'orders', requestId: 'f1' });
  });

  it('adds no hint, pause or cause where there was none', () => {
    const more = new EtlError('failed', 'x', 'x').about({ target: 'duckdb' });
    expect([more.hint, more.retryAfterMs, more.cause]).toEqual([undefined, undefined, undefined]);
  });
});

describe('whatever is thrown becomes one', () => {
  it('one of ours stays itself', () => {
    const error = new EtlError('refused', 'x', 'x');
    expect(asEtlError(error)).toBe(error);
  });

  it.each<[string, unknown, string]>([
    ['an error', new TypeError('no such thing'), 'no such thing'],
    ['a text', 'stop', 'stop'],
    ['nothing', undefined, 'undefined'],
  ])('%s is a failure of the step in hand, and is kept as its cause', (_, thrown, message) => {
    const error = asEtlError(thrown);
    expect(error).toMatchObject({ kind: 'failed', code: 'unexpected', message });
    expect(error.cause).toBe(thrown);
  });

  it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s says to make room', (code) => {
    const thrown = Object.assign(new Error(`${code}: write`), { code });
    const told = { kind: 'failed', code: 'no_room', message: `${code}: write`, cause: thrown };
    expect(asEtlError(thrown)).toMatchObject({ ...told, hint: expect.stringContaining('make room') });
  });

  it.each(['EROFS', 'EACCES', 'EPERM'])('%s speaks of rights, and of no full disk', (code) => {
    const thrown = Object.assign(new Error(`${code}: open '/data/state.db'`), { code });
    const error = asEtlError(thrown);
    expect(error).toMatchObject({ kind: 'failed', code: 'not_allowed', cause: thrown });
    expect(error.hint).toMatch(/read-only file system.*PARTNER_ETL_HOME/);
    expect(error.hint).not.toContain('full');
  });

  it('a broken assertion of Node is our bug too', () => {
    const thrown = new AssertionError({ message: 'a line outgrew its room' });
    expect(asEtlError(thrown)).toMatchObject({
      kind: 'bug',
      code: 'assertion',
      message: thrown.message,
      cause: thrown,
    });
  });

  it('a broken assumption is our bug, and says to report it', () => {
    expect(() => assert(1 + 1 === 2, 'sums')).not.toThrow();
    expect(() => assert(0, 'zero rows')).toThrow(
      expect.objectContaining({
        kind: 'bug',
        code: 'assertion',
        message: 'zero rows',
        hint: expect.stringMatching('report'),
      }),
    );
  });
});
