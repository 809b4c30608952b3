import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asText, endOf, Scene, textCall } from './scene.ts';
import { answer } from './scripted-service.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(() => scene.close());

describe('a status that answers the question', () => {
  test('goes to `consume`, and the record tells of a fetch that went well', async () => {
    scene.service.answers.push(answer(404, '{"title":"unknown"}', { 'x-note': 'one', 'content-type': 'text/x' }));
    const seen: unknown[] = [];
    const call = textCall({
      alsoAnswers: [404],
      consume: (got) => {
        seen.push(got.status, got.contentType, got.header('x-note'), got.header('x-none'));
        return asText(got);
      },
    });
    const { value, record } = await scene.client().call(call);
    expect(value).toBe('{"title":"unknown"}');
    expect(seen).toEqual([404, 'text/x', 'one', null]);
    expect(record).toMatchObject({ status: 404, outcome: 'ok', error_code: null, sha256: 'feed' });
    expect(scene.records).toEqual([record]);
  });

  test('is tried again when it is cut off', async () => {
    scene.service.answers.push(
      (response) => {
        response.writeHead(404, { 'content-length': '100' });
        response.write('{', () => response.destroy());
      },
      answer(404, 'unknown'),
    );
    const { value, record } = await scene.client().call(textCall({ alsoAnswers: [404] }));
    expect([value, record.attempt, scene.records[0]?.error_code]).toEqual(['unknown', 2, 'cut_body']);
  });

  test('is heeded for what its headers say of limits', async () => {
    const spent = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' };
    scene.service.answers.push(answer(404, '', spent));
    const client = scene.client();
    await client.call(textCall({ alsoAnswers: [404] }));
    await client.call(textCall());
    expect(scene.service.calls[1]!.atMs - scene.service.calls[0]!.atMs).toBe(7000);
  });

  test.each([
    [401, 'refused/token_rejected'],
    [403, 'refused/forbidden'],
    [429, 'failed/http_429'],
    [500, 'failed/http_500'],
    [503, 'failed/http_503'],
    [302, 'failed/redirect'],
  ])('is never %i', async (status, end) => {
    scene.service.answers.push(...Array.from({ length: 4 }, () => answer(status)));
    expect(await endOf(scene.client().call(textCall({ alsoAnswers: [status, 404] })))).toBe(end);
  });
});
