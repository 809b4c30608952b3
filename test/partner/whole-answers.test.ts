import { afterEach, beforeEach, expect, test } from 'vitest';
import { endOf, errorOf, Scene, textCall } from './scene.ts';
import { answer } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

test.each([201, 202, 203, 204, 206, 207, 226])(
  'a success of status %i is no whole answer: tried again',
  async (status) => {
    scene.service.answers.push(answer(status, status === 204 ? '' : '{"items":[]}'), answer(200, 'all of it'));
    const { value, record } = await scene.client().call(textCall());
    expect([value, record.attempt]).toEqual(['all of it', 2]);
    expect(scene.records[0]).toMatchObject({ status, outcome: 'failed', error_code: `http_${status}`, sha256: null });
  },
);

test('one that comes again and again fails, with what may have made it', async () => {
  scene.service.answers.push(...Array.from({ length: 4 }, () => answer(206, 'half')));
  const error = await errorOf(scene.client().call(textCall()));
  expect([error.kind, error.code, error.hint]).toEqual([
    'failed',
    'http_206',
    expect.stringContaining('proxy or cache'),
  ]);
  expect(error.message).toMatch(/GET \/api\/things: the service answered 206, with a part of the answer/);
});

test.each([
  ['POST', 201],
  ['POST', 202],
  ['PUT', 202],
  ['DELETE', 204],
] as const)('a %s may be answered %i', async (method, status) => {
  scene.service.answers.push(answer(status));
  expect((await scene.client().call(textCall({ method }))).record.status).toBe(status);
});

test('a POST with a part of an answer is not repeated: the service may have acted', async () => {
  scene.service.answers.push(answer(206, 'half'));
  expect(await endOf(scene.client().call(textCall({ method: 'POST' })))).toBe('failed/http_206');
  expect(scene.service.calls).toHaveLength(1);
});
