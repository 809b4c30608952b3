/** The token that an answer was asked with does not get further than the answer: nothing of it is stored, by whichever way it came. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { orders } from '../../pipelines/orders.ts';
import { receive } from '../../src/extract/answer.ts';
import { receiveFile } from '../../src/extract/file.ts';
import { receiveAnything, receiveLookup } from '../../src/extract/lookup-answer.ts';
import type { Answer, Consumed } from '../../src/partner/call.ts';
import { echoWatch } from '../../src/partner/echo.ts';
import { FolderPlace } from '../../src/store/raw/folder.ts';
import { RawStore } from '../../src/store/raw/raw.ts';
import { errorOf, Scene, textCall } from './scene.ts';
import { answer, granted } from './scripted-service.ts';

const TOKEN = 'xK3-first.token~Value_01/23456789+/=';

describe('a token among decoded bytes', () => {
  const text = `{"items":[{"name":"${TOKEN}"}]}`;
  const pieces = (whole: string, size: number) =>
    Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
      Buffer.from(whole.slice(i * size, (i + 1) * size)),
    );
  const found = (chunks: readonly Uint8Array[], secrets: readonly string[] = [TOKEN]) => {
    const inspect = echoWatch(secrets);
    try {
      for (const chunk of chunks) inspect(chunk);
      return null;
    } catch (error) {
      return error;
    }
  };

  test.each([1, 2, 3, 7, 35, 36, 37, 1000])('is found in pieces of %i bytes', (size) => {
    expect(found(pieces(text, size))).toMatchObject({ kind: 'failed', code: 'echoed_token' });
    expect(found(pieces(text.replaceAll('/', '\\/'), size))).toMatchObject({ code: 'echoed_token' });
    expect(found(pieces(text.replace('first', 'other'), size))).toBeNull();
  });

  test('is found at whatever byte a chunk ends, also when it is the older one of two', () => {
    for (let cut = 0; cut <= text.length; cut++) {
      const chunks = [Buffer.from(text.slice(0, cut)), Buffer.from(text.slice(cut))];
      expect(found(chunks, ['another-token-of-more-characters-than-it', TOKEN])).not.toBeNull();
    }
  });

  test('one of a few letters is not looked for', () => {
    expect(found([Buffer.from('{"name":"bench"}')], ['bench'])).toBeNull();
  });
});

describe('an answer that holds our token', () => {
  let scene: Scene;
  let raw: RawStore;
  beforeEach(async () => {
    scene = await Scene.open();
    scene.service.tokens.push(granted(TOKEN));
    raw = new RawStore({ state: scene.state, place: new FolderPlace(scene.home.root) });
  });
  afterEach(() => scene.close());

  /** What could not be packed away: the token must be searched for in what gzip makes of it. */
  const noise = randomBytes(200_000).toString('base64url');
  const report = `{"items":[{"orderDate":"2026-02-01","orderId":"1","orderItemId":"1","name":"${noise}"},{"name":"${TOKEN}"}]}`;
  const nameless = `${noise} no JSON ${TOKEN}`;
  const place = () => ({ pipeline: 'products', raw, gatherer: raw.gather('products', scene.clock) });
  const scratch = () => path.join(scene.home.root, 'scratch');
  const ways: Readonly<Record<string, (got: Answer) => Promise<{ rawPath: string }>>> = {
    report: (got) => receive(got, orders, raw, scratch()),
    'look-up': (got) => receiveLookup(got, {}, () => 1, place()),
    file: (got) =>
      receiveFile(got, {
        ...{ raw, pipeline: 'reductions', folder: scratch(), extension: 'csv', decodedFile: null, mostBytes: 1e9 },
      }),
  };
  const cases = Object.keys(ways).flatMap((way) =>
    [report, nameless].flatMap((body) =>
      ['plain', 'gzip'].map((form) => [way, body === report ? 'JSON' : 'none', form, body] as const),
    ),
  );
  const consuming =
    (way: (got: Answer) => Promise<{ rawPath: string }>) =>
    async (got: Answer): Promise<Consumed<string>> => {
      const { rawPath } = await way(got);
      return { value: '', bytesDecoded: 1, sha256: 'x', rawPath, items: 0 };
    };
  const sent = (body: string, form: string) =>
    form === 'gzip' ? answer(200, gzipSync(body), { 'content-encoding': 'gzip' }) : answer(200, body);

  /** What the raw store holds, unpacked as far as it goes. */
  async function stored(): Promise<string[]> {
    const files = [...(await scene.texts())].filter(([file]) => path.relative(scene.home.root, file).startsWith('raw'));
    return files.map(([file, text]) => {
      const bytes = Buffer.from(text, 'latin1');
      const isPacked = file.endsWith('.gz') && bytes.length > 0;
      return (isPacked ? gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes).toString();
    });
  }

  test.each(cases)('a %s, %s, %s: is refused by name, and nothing of it is stored', async (way, _, form, body) => {
    scene.service.answers.push(sent(body, form));
    const error = await errorOf(scene.client().call(textCall({ consume: consuming(ways[way]!), isRepeatable: false })));
    // A report that is refused before its token was read is set aside as far as it was read, for a person to look at.
    const isSetAside = body === nameless && way === 'report';
    expect(['echoed_token', ...(isSetAside ? ['not_json'] : [])]).toContain(error.code);
    const kept = await stored();
    expect(kept.length).toBeLessThanOrEqual(isSetAside ? 5 : 0);
    expect(kept.join()).not.toContain(TOKEN);
    expect(JSON.stringify([scene.records, scene.log.lines, error.message, error.hint])).not.toContain(TOKEN);
  });

  test.each(['plain', 'gzip'])('one without it is stored, %s', async (form) => {
    scene.service.answers.push(sent(report.replace(TOKEN, 'somebody'), form));
    await scene.client().call(textCall({ consume: consuming(ways.report!) }));
    expect(await stored()).toHaveLength(1);
    scene.service.answers.push(sent(nameless.replace(TOKEN, 'somebody'), form));
    const once = textCall({ consume: consuming(ways.report!), isRepeatable: false });
    expect(await errorOf(scene.client().call(once))).toMatchObject({ code: 'not_json' });
    expect(await stored()).toHaveLength(2);
  });

  test('of a link only that it was so is kept', async () => {
    scene.service.answers.push(sent(report, 'plain'));
    const { gatherer, ...rest } = place();
    const consume = consuming((got) => receiveAnything(got, {}, 1e9, { ...rest, gatherer }));
    const { record } = await scene.client().call(textCall({ consume }));
    await gatherer.record(record);
    await gatherer.close();
    const [kept = ''] = await stored();
    expect(kept).toContain('echoed_token');
    expect(kept).not.toContain(TOKEN);
  });

  test('what nobody has looked through cannot be stored', async () => {
    scene.service.answers.push(answer(200, '{}'));
    const consume = async () => ({ value: '', bytesDecoded: 2, sha256: 'x', rawPath: 'raw/x', items: 0 });
    expect(await errorOf(scene.client().call(textCall({ consume })))).toMatchObject({ kind: 'bug' });
  });
});
