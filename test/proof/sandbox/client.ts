/** A client that believes nothing: bytes as they come, JSON with every number as its text. */
import { request } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { Day } from '../../../src/core/days.ts';
import type { ReportName } from '../../../src/sandbox/report-name.ts';
import { type Sandbox, type SandboxOptions, startSandbox, type TruthRow } from '../../../src/sandbox/sandbox.ts';

export const NOON = Date.parse('2026-06-10T10:00:00Z');
export const DAY_MS = 86_400_000;
export const day = (text: string): Day => text as Day;

const REPORT_PATHS: Record<ReportName, string> = {
  promotions: 'promotion-report',
  orders: 'order-report',
  commissions: 'commission-report',
};

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
  readonly text: string;
  /** The connection broke before the answer was whole. */
  readonly broken: boolean;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Gives up once so many bytes of the body have come; the reply then counts as broken. */
  readonly stopAfterBytes?: number;
}

/** Resolves with whatever came; rejects only when not even a status did. */
export function ask(url: string, { method = 'GET', headers = {}, body, stopAfterBytes }: Ask = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      const done = (broken: boolean) => {
        const whole = Buffer.concat(parts);
        const { statusCode: status = 0 } = response;
        resolve({ status, headers: response.headers, body: whole, text: whole.toString(), broken });
      };
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (stopAfterBytes !== undefined && bytes >= stopAfterBytes) call.destroy();
      });
      response.on('end', () => done(false));
      response.on('error', () => done(true));
    });
    call.on('error', reject);
    call.end(body);
  });
}

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** JSON whose numbers are their text: so that nothing is rounded before it is compared. */
export function exact(text: string): never {
  return JSON.parse(text.replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`))) as never;
}

export type Item = Record<string, string | boolean>;

/** A row of the truth in the form of `exact`. */
export function asExact(row: TruthRow): Item {
  return Object.fromEntries(Object.entries(row).map(([k, v]) => [k, typeof v === 'number' ? String(v) : v]));
}

/** `12.1` → 1210n. */
export function cents(value: string | boolean | undefined): bigint {
  const [whole, decimals = ''] = String(value).split('.');
  return BigInt(`${whole}${decimals.padEnd(2, '0')}`);
}

/** The first place where two long lists differ; undefined where they are the same. Matchers take seconds over such lists. */
export function firstDifference(a: readonly unknown[], b: readonly unknown[]): unknown {
  const text = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
  for (let at = 0; at < Math.max(a.length, b.length); at++)
    if (text(a[at]) !== text(b[at])) return { at, a: a[at], b: b[at] };
  return undefined;
}

/** The items by the value of a field, in their order. */
export function groupBy<T>(items: readonly T[], key: (item: T) => unknown): Map<unknown, T[]> {
  const groups = new Map<unknown, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}

export interface Client {
  readonly sandbox: Sandbox;
  token(): Promise<string>;
  /** With a token unless the headers say otherwise. */
  call(path: string, options?: Ask): Promise<Reply>;
  report(name: ReportName, from: string, to: string, options?: Ask): Promise<Reply>;
  items(name: ReportName, from: string, to: string): Promise<Item[]>;
  truth(name: ReportName, from: string, to: string): Item[];
}

export const reportPath = (name: ReportName, from: string, to: string): string =>
  `/marketing/affiliate/reports/v2/${REPORT_PATHS[name]}?startDate=${from}&endDate=${to}`;

export async function requestToken(sandbox: Sandbox, headers: Record<string, string> = {}): Promise<Reply> {
  const basic = Buffer.from(`${sandbox.clientId}:${sandbox.clientSecret}`).toString('base64');
  const all = { authorization: `Basic ${basic}`, accept: 'application/json', ...headers };
  return ask(`${sandbox.authUrl}/token?grant_type=client_credentials`, { method: 'POST', headers: all });
}

/** The token outlives every clock that a test sets; tests of tokens say otherwise. */
const USUAL: SandboxOptions = { seed: 1, ordersPerDay: 60, now: () => NOON, tokenTtlSeconds: 1_000_000_000 };

/** A sandbox for one test, closed at its end, and a client with one token. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<Client> {
  const sandbox = await startSandbox({ ...USUAL, ...options });
  onTestFinished(async () => {
    await sandbox.close();
    expect(sandbox.stats.failures).toEqual([]);
  });
  let known: string | undefined;
  const token = async () => {
    known ??= JSON.parse((await requestToken(sandbox)).text).access_token as string;
    return known;
  };
  const call = async (path: string, { headers = {}, ...rest }: Ask = {}) =>
    ask(`${sandbox.baseUrl}${path}`, { ...rest, headers: { authorization: `Bearer ${await token()}`, ...headers } });
  const report: Client['report'] = (name, from, to, options) => call(reportPath(name, from, to), options);
  return {
    sandbox,
    token,
    call,
    report,
    items: async (name, from, to) => (exact((await report(name, from, to)).text) as { items: Item[] }).items,
    truth: (name, from, to) => [...sandbox.truth(name, day(from), day(to))].map(asExact),
  };
}

/** Media type of the retailer API. */
export const media = (version: number): string => `application/vnd.retailer.v${version}+json`;

/** A call to the retailer API, with the media types of a version. */
export function retailer(client: Client, path: string, ask: Ask = {}, version = 10): Promise<Reply> {
  const sent: Record<string, string> = ask.body === undefined ? {} : { 'content-type': media(version) };
  return client.call(path, { ...ask, headers: { accept: media(version), ...sent, ...ask.headers } });
}
