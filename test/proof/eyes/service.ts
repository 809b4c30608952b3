/**
 * A second partner service, written from the specification alone: token, orders report, bulk commissions, reductions file with its name,
 * products. It knows nothing of the sandbox, so that a misreading of the specification is not made twice.
 */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export const CLIENT_ID = 'a-client';
export const CLIENT_SECRET = 'no secret, a test';
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl';

/** What it has to tell; all of it as the bytes of the answers. */
export interface Told {
  /** The answer of the orders report, from day to day inclusive. */
  readonly orders: (from: string, to: string) => string | Uint8Array;
  /** A commission record by EAN; undefined for an EAN that there is not. */
  readonly commission?: (ean: string) => string | undefined;
  readonly product?: (ean: string, country: string, language: string) => string | undefined;
  readonly reductions?: { readonly name: string; readonly file: string };
}

export interface Service {
  readonly url: string;
  /** `GET /path` of every call that was answered, in order. */
  readonly calls: readonly string[];
  /** Answers of another kind than was asked for: what the client did wrong. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const json = (body: string | Uint8Array, status = 200): Answer => ({
  status,
  body,
  headers: { 'content-type': 'application/json' },
});
const problem = (status: number, title: string): Answer => json(JSON.stringify({ title, status }), status);

export async function startService(told: Told): Promise<Service> {
  const calls: string[] = [];
  const faults: string[] = [];
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://service');
    const call = {
      method: request.method ?? '',
      url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    const { status, body, headers } = answerTo(call, told);
    calls.push(`${call.method} ${url.pathname}`);
    if (status >= 400 && status !== 404) faults.push(`${status} for ${call.method} ${request.url}: ${String(body)}`);
    response.writeHead(status, headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, faults, close };
}

interface Call {
  readonly method: string;
  readonly url: URL;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function answerTo(call: Call, told: Told): Answer {
  const { method, url, headers } = call;
  if (url.pathname === '/token') return token(call);
  if (headers.authorization !== `Bearer ${TOKEN}`) return problem(401, 'Unauthorized');
  if (method === 'GET' && url.pathname.endsWith('/order-report')) return report(url, told);
  if (method === 'POST' && url.pathname === '/retailer/commission') return commissions(call, told);
  const [, ean] = /^\/marketing\/catalog\/v1\/products\/([0-9]+)$/.exec(url.pathname) ?? [];
  if (method === 'GET' && ean !== undefined) return product(call, ean, told);
  if (method === 'GET' && url.pathname.startsWith('/retailer/reductions')) return reductions(call, told);
  return problem(404, 'Not Found');
}

/** "no body", "header Authorization: Basic", "only Accept: application/json". */
function token({ method, url, headers, body }: Call): Answer {
  const basic = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`;
  if (method !== 'POST' || url.searchParams.get('grant_type') !== 'client_credentials') return problem(400, 'no grant');
  if (body !== '' || headers.accept !== 'application/json') return problem(400, 'a body, or another Accept');
  if (headers.authorization !== basic) return json('{"error":"invalid_client"}', 401);
  return json(JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 299, scope: '' }));
}

/** "startDate and endDate, both required, type string of format date". */
function report(url: URL, { orders }: Told): Answer {
  const [from, to] = [url.searchParams.get('startDate') ?? '', url.searchParams.get('endDate') ?? ''];
  const isRange = [from, to].every((day) => /^\d{4}-\d{2}-\d{2}$/.test(day)) && from <= to;
  return isRange ? json(orders(from, to)) : problem(400, `no range: ${url.search}`);
}

/** At most 100 EANs; media types of a version on both ways. */
function commissions({ headers, body }: Call, { commission }: Told): Answer {
  const media = /^application\/vnd\.retailer\.v\d+\+json$/;
  if (!media.test(headers.accept ?? '') || !media.test(headers['content-type'] ?? ''))
    return problem(406, 'media type');
  const { commissionQueries: queries } = JSON.parse(body) as {
    commissionQueries: { ean: string; condition: string }[];
  };
  if (queries.length === 0 || queries.length > 100) return problem(400, `${queries.length} EANs`);
  const records = queries.flatMap(({ ean }) => commission?.(ean) ?? []);
  return { ...json(`{"commissions":[${records.join(',')}]}`), headers: { 'content-type': headers.accept! } };
}

/** "query country-code (two-letter country code)", Accept-Language. */
function product({ url, headers }: Call, ean: string, { product }: Told): Answer {
  const country = url.searchParams.get('country-code') ?? '';
  if (!/^[A-Z]{2}$/.test(country)) return problem(400, 'country-code');
  if (!/^(nl|fr)(-[A-Z]{2})?$/.test(headers['accept-language'] ?? '')) return problem(406, 'language');
  const record = product?.(ean, country, headers['accept-language']!);
  return record === undefined ? problem(404, 'Not Found') : json(record);
}

/** The name as plain text; the file with its name in Content-Disposition, unquoted. */
function reductions({ url, headers }: Call, { reductions: told }: Told): Answer {
  const accept = headers.accept ?? '';
  if (!/^application\/vnd\.retailer\.v\d+\+csv$/.test(accept)) return problem(406, 'media type');
  if (told === undefined) return problem(404, 'Not Found');
  if (url.pathname === '/retailer/reductions/latest')
    return { status: 200, body: told.name, headers: { 'content-type': accept } };
  const disposition = `attachment; filename=${told.name}`;
  return { status: 200, body: told.file, headers: { 'content-type': accept, 'content-disposition': disposition } };
}
