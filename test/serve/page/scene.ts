/** The status page of a world, on a server of its own: what it answers to requests made byte by byte, as a browser or an attacker would. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { RunContext } from '../../../src/run/context.ts';
import { startAdminServer } from '../../../src/serve/admin-server.ts';
import { healthRoutes } from '../../../src/serve/health.ts';
import { openPage, type Page, type PageOptions } from '../../../src/serve/page/page.ts';
import type { StartProgram } from '../../../src/serve/program-process.ts';
import { typedIn } from '../../cli/typed.ts';
import type { World } from '../../support/nights.ts';

export const TOKEN = 'a-token-of-the-page-1234';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PageScene {
  readonly page: Page;
  readonly port: number;
  /** Commands that the page began, as they would be typed. */
  readonly begun: readonly string[];
  ask(path: string, asking?: Asking): Promise<Answer>;
  /** A form as the page's own are sent. */
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  signIn(): Promise<SignedIn>;
}

export interface SignedIn {
  readonly cookie: string;
  /** Of its forms. */
  readonly csrf: string;
}

export interface PageSceneOptions extends Partial<PageOptions> {
  /** Where it says that it listens; it does so on loopback in any case. */
  readonly host?: string;
  readonly trustedProxies?: readonly string[];
  readonly context?: Partial<RunContext>;
}

/** Commands run in this process, in the installation of the world. */
export function typing(world: World, begun: string[]): StartProgram {
  return (words) => {
    begun.push(words.join(' '));
    const ended = typedIn(world, words).then(({ code, out, err }) => {
      const document: unknown = out === '' ? null : JSON.parse(out);
      return { kind: 'ended' as const, exitCode: code, document, said: err.split('\n') };
    });
    return { ended, stop: () => undefined, kill: () => undefined };
  };
}

/** Open until the test ends. The clock stands still from now on. */
export async function openPageScene(world: World, options: PageSceneOptions = {}): Promise<PageScene> {
  world.clock.passUpTo(-1);
  const { host = '127.0.0.1', trustedProxies = [], context: changed = {}, ...more } = options;
  const begun: string[] = [];
  const stop = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  const opening = new Promise<{ readonly page: Page; readonly url: string }>((resolve, reject) => {
    ended = world.within(async (context) => {
      const page = openPage(
        {
          token: TOKEN,
          today: () => world.today(),
          tokens: new Map(),
          start: typing(world, begun),
          secrets: [TOKEN, world.sandbox.clientSecret],
          ...more,
        },
        { ...context, ...changed },
        host,
        () => ({ live: true, ready: true, locked: true, receiving: null, standing_by: false, schedule: null }),
      );
      const health = healthRoutes({
        now: () => world.clock.now(),
        isLocked: () => true,
        isReceiving: null,
        isStandingBy: () => false,
        schedule: () => null,
      });
      const server = await startAdminServer({ host: '127.0.0.1', port: 0, trustedProxies }, [health, page.routes]);
      resolve({ page, url: server.url });
      await new Promise<void>((over) => stop.signal.addEventListener('abort', () => over()));
      await server.close();
      await page.close();
    });
    ended.catch(reject);
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const { page, url } = await opening;
  const port = Number(new URL(url).port);
  const ask = (path: string, asking: Asking = {}) => askAt(port, path, asking);
  const post: PageScene['post'] = (path, fields, headers = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signIn = async () => {
    const { headers } = await post('/login', { token: TOKEN });
    const cookie = String(headers['set-cookie']).split(';')[0]!;
    const { text } = await ask('/', { headers: { cookie } });
    return { cookie, csrf: /name="csrf" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? '' };
  };
  return { page, port, begun, ask, post, signIn };
}

function askAt(port: number, path: string, { method = 'GET', headers = {}, body }: Asking): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
