import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asText, Scene, SECRET, textCall } from './scene.ts';
import { answer, granted, hangUp, type Script, type Seen } from './scripted-service.ts';

const TOKENS = ['xK3-first.token~Value_0123456789', 'xK3-second.token~Value_9876543210'];
const BASIC = Buffer.from(`client-4711:${SECRET}`).toString('base64');
const FORMS = [
  ...[SECRET, ...TOKENS].flatMap((secret) => [secret, Buffer.from(secret).toString('base64')]),
  encodeURIComponent(SECRET),
  JSON.stringify(SECRET).slice(1, -1),
  BASIC,
];

/** What the service could throw back at us: everything that we sent, and every token that it has granted. */
function everything({ url, headers }: Seen): string {
  const tokens = url.startsWith('/auth') ? [] : TOKENS.slice(0, scene.service.tokenRequests.length);
  const inBase64 = [SECRET, ...tokens].map((secret) => Buffer.from(secret).toString('base64'));
  const forms = [...tokens, SECRET, BASIC, encodeURIComponent(SECRET), ...inBase64];
  return `you sent ${JSON.stringify(headers)} ${forms.join(' ')} ${SECRET.split('').join('\u0000')}`;
}

const echo =
  (status: number, more: Record<string, string> = {}): Script =>
  (response, seen) =>
    answer(status, everything(seen), more)(response, seen);

const echoAsProblem: Script = (response, seen) =>
  answer(400, JSON.stringify({ title: everything(seen), violations: [{ name: TOKENS[0], reason: BASIC }] }))(
    response,
    seen,
  );

const echoNoHttp: Script = (response, seen) => {
  response.socket?.end(everything(seen));
};

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
  scene.service.tokens.push(...TOKENS.map((token) => granted(token)));
});
afterEach(() => scene.close());

/** Where of all that the program says or keeps a secret stands; the token in the state is the only place where one may. */
async function leaks(errors: readonly unknown[]): Promise<string[]> {
  const said = [
    ...scene.log.lines.map((line) => ['log', line]),
    ...scene.records.map((record) => ['record', JSON.stringify(record)]),
    ...errors.map((error) => ['error', inspect(error, { depth: 20, showHidden: true })]),
    ...[...(await scene.texts())].map(([file, text]) => [
      file,
      file.startsWith(scene.home.database) ? unkept(text) : text,
    ]),
  ];
  return said
    .filter(([, text]) => FORMS.some((form) => text?.includes(form)))
    .map(([where, text]) => `${where}: ${text}`);
}

/** Without the tokens, which the state keeps. */
function unkept(text: string): string {
  return TOKENS.reduce((rest, token) => rest.replaceAll(token, ''), text);
}

/** The errors of several attempts, one after the other. */
async function errorsOf(...attempts: (() => Promise<unknown>)[]): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const attempt of attempts) await attempt().catch((error: unknown) => errors.push(error));
  return errors;
}

describe('secrets stand nowhere but in the state, which holds the token', () => {
  test.each<[string, Script]>([
    ['400', echo(400)],
    ['a problem', echoAsProblem],
    ['401', echo(401)],
    ['403', echo(403)],
    ['404 as a page', echo(404, { 'content-type': 'text/html' })],
    ['500', echo(500)],
    ['429', echo(429)],
    [
      'a redirect',
      echo(302, { location: `https://elsewhere.example/?t=${TOKENS[0]}&s=${encodeURIComponent(SECRET)}` }),
    ],
    ['a content type', echo(400, { 'content-type': `text/x; t="${TOKENS[0]}"; b="${BASIC}"` })],
    ['something that is no HTTP', echoNoHttp],
    ['nothing', hangUp],
  ])('when the service answers %s and repeats all it knows', async (_name, script) => {
    scene.service.answers.push(...Array.from({ length: 8 }, () => script));
    const client = scene.client();
    const errors = await errorsOf(() => client.call(textCall()));
    expect(errors).toHaveLength(1);
    expect(scene.service.calls[0]?.headers.authorization).toBe(`Bearer ${TOKENS[0]}`);
    expect(await leaks(errors)).toEqual([]);
  });

  test('when a 2xx answer repeats it and the consumer quotes the answer', async () => {
    scene.service.answers.push(echo(200));
    const consume: typeof asText = async (got) => {
      const { value } = await asText(got);
      throw new Error(`cannot read ${value}`, { cause: new SyntaxError(value) });
    };
    const errors = await errorsOf(() => scene.client().call(textCall({ consume })));
    expect(errors).toHaveLength(1);
    expect(await leaks(errors)).toEqual([]);
  });

  test.each<[string, Script]>([
    ['401', echo(401)],
    ['404', echo(404)],
    ['400', echo(400)],
    ['503', echo(503)],
    ['200 that is no token', echo(200)],
    ['no HTTP', echoNoHttp],
    ['a token of another type', granted(TOKENS[0]!, { token_type: `mac ${TOKENS[0]}` })],
    ['a lifetime that is a token', granted(TOKENS[0]!, { expires_in: TOKENS[0] })],
  ])('when the authentication service answers %s and repeats all it knows', async (_name, script) => {
    scene.service.tokens.splice(0, 2, script, script, script, script);
    const client = scene.client();
    const errors = await errorsOf(
      () => client.call(textCall()),
      () => client.call(textCall()),
      async () => {
        throw await scene.tokens().state();
      },
    );
    expect(scene.service.tokenRequests.length).toBeGreaterThan(0);
    expect(await leaks(errors)).toEqual([]);
  });

  test('in the course of ordinary work', async () => {
    const client = scene.client();
    await Promise.all([1, 2, 3].map(() => client.call(textCall())));
    scene.service.answers.push(answer(401));
    await client.call(textCall());
    expect(await leaks([])).toEqual([]);
    expect((await scene.circuit())?.token?.value).toBe(TOKENS[1]);
  });
});
