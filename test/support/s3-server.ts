/**
 * A bucket's service in memory, as DuckDB speaks to one: objects by path (PUT with If-None-Match, GET with ranges, HEAD, DELETE), uploads in parts,
 * listing in pages of two, deletion of many. It refuses another key with 403 and another region with 400, as the service of AWS does.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { S3Access } from '../../src/core/ducklake.ts';

export interface S3Server {
  readonly access: S3Access;
  /** By `bucket/key`. */
  readonly objects: Map<string, Buffer>;
  close(): Promise<void>;
}

const KEY = 'a-key-for-tests';
const REGION = 'eu-test-1';
const PAGE = 2;

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Map<number, Buffer>>();
  const server = createServer((request, response) => {
    answer(request, { objects, uploads }).then(
      ({ status, headers = {}, body = '' }) => send(request, response, status, headers, body),
      (error: unknown) => send(request, response, 500, {}, String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    access: { keyId: KEY, secret: 'a-secret-for-tests', sessionToken: null, region: REGION, endpoint },
    objects,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Held {
  readonly objects: Map<string, Buffer>;
  /** By id, their parts. */
  readonly uploads: Map<string, Map<number, Buffer>>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

async function answer(request: IncomingMessage, held: Held): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://s3');
  const body = await bodyOf(request);
  const refused = refusal(request);
  if (refused !== null) return refused;
  const name = decodeURIComponent(url.pathname.slice(1));
  const { searchParams: query } = url;
  if (request.method === 'GET' && query.get('list-type') === '2') return list(held.objects, name.split('/')[0]!, query);
  if (request.method === 'POST' && query.has('delete')) return deleteMany(held.objects, name.split('/')[0]!, body);
  if (query.has('uploads') || query.has('uploadId')) return inParts(request.method, name, query, body, held);
  return one(request, name, body, held.objects);
}

/** Credential=KEY/yyyymmdd/REGION/s3/aws4_request */
function refusal({ headers }: IncomingMessage): Answer | null {
  const [, key, region] = /Credential=([^/]+)\/\d{8}\/([^/]+)\/s3\//.exec(headers.authorization ?? '') ?? [];
  if (key !== KEY) return failed(403, 'InvalidAccessKeyId', 'The key is not known.');
  if (region !== REGION)
    return failed(400, 'AuthorizationHeaderMalformed', `The region '${region}' is wrong; expecting '${REGION}'.`);
  return null;
}

function one({ method, headers }: IncomingMessage, name: string, body: Buffer, objects: Map<string, Buffer>): Answer {
  if (method === 'PUT') {
    if (headers['if-none-match'] === '*' && objects.has(name)) return failed(412, 'PreconditionFailed', 'It is there.');
    objects.set(name, body);
    return { status: 200, headers: { etag: tagOf(body) } };
  }
  if (method === 'DELETE') {
    objects.delete(name);
    return { status: 204 };
  }
  const object = objects.get(name);
  if (object === undefined) return failed(404, 'NoSuchKey', `There is no ${name}.`);
  const common = { etag: tagOf(object), 'accept-ranges': 'bytes', 'last-modified': new Date(0).toUTCString() };
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (from === undefined) return { status: 200, headers: common, body: object };
  const last = Math.min(to === '' ? Number.POSITIVE_INFINITY : Number(to), object.length - 1);
  const range = `bytes ${from}-${last}/${object.length}`;
  return { status: 206, headers: { ...common, 'content-range': range }, body: object.subarray(Number(from), last + 1) };
}

function inParts(method: string | undefined, name: string, query: URLSearchParams, body: Buffer, held: Held): Answer {
  if (query.has('uploads')) {
    const id = randomUUID();
    held.uploads.set(id, new Map());
    return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }
  const id = query.get('uploadId') ?? '';
  const parts = held.uploads.get(id);
  if (parts === undefined) return failed(404, 'NoSuchUpload', 'There is no such upload.');
  if (method === 'PUT') {
    parts.set(Number(query.get('partNumber')), body);
    return { status: 200, headers: { etag: tagOf(body) } };
  }
  held.uploads.delete(id);
  if (method === 'DELETE') return { status: 204 };
  const whole = Buffer.concat([...parts].sort(([a], [b]) => a - b).map(([, part]) => part));
  held.objects.set(name, whole);
  return xml(`<CompleteMultipartUploadResult><ETag>${tagOf(whole)}</ETag></CompleteMultipartUploadResult>`);
}

function list(objects: Map<string, Buffer>, bucket: string, query: URLSearchParams): Answer {
  const start = `${bucket}/${query.get('prefix') ?? ''}`;
  const after = query.get('continuation-token') ?? '';
  const names = [...objects.keys()].filter((name) => name.startsWith(start) && name > after).sort();
  const page = names.slice(0, PAGE);
  const items = page.map((name) => {
    const object = objects.get(name)!;
    const key = name.slice(bucket.length + 1).replaceAll('&', '&amp;');
    const at = new Date().toISOString();
    return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified><ETag>${tagOf(object)}</ETag><Size>${object.length}</Size></Contents>`;
  });
  const next = page.length < names.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return xml(
    `<ListBucketResult><Name>${bucket}</Name><IsTruncated>${next !== ''}</IsTruncated>${next}${items.join('')}</ListBucketResult>`,
  );
}

function deleteMany(objects: Map<string, Buffer>, bucket: string, body: Buffer): Answer {
  const keys = [...body.toString('utf8').matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => String(key));
  for (const key of keys) objects.delete(`${bucket}/${key.replaceAll('&amp;', '&')}`);
  return xml(`<DeleteResult>${keys.map((key) => `<Deleted><Key>${key}</Key></Deleted>`).join('')}</DeleteResult>`);
}

const tagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`;

const xml = (text: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n${text}`,
});

const failed = (status: number, code: string, message: string): Answer => ({
  ...xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`),
  status,
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
