import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { secretsIn } from '../../src/config/environment.ts';
import { noTracer, spanning } from '../../src/core/tracer.ts';
import { openTracing } from '../../src/extras/tracing/tracing.ts';
import { FakeClock } from '../support/clock.ts';
import { openWorld } from '../support/nights.ts';

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly status: { readonly code?: number; readonly message?: string };
}
interface OtlpDocument {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface Collector {
  readonly url: string;
  readonly documents: OtlpDocument[];
  readonly heads: { readonly path: string; readonly key: string | undefined }[];
  /** null: it takes the request and never answers. */
  status: number | null;
  close(): Promise<void>;
}

async function openCollector(): Promise<Collector> {
  const found: Omit<Collector, 'close' | 'url'> = { documents: [], heads: [], status: 200 };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      found.heads.push({ path: request.url ?? '', key: request.headers['x-key']?.toString() });
      found.documents.push(JSON.parse(body) as OtlpDocument);
      if (found.status !== null) response.writeHead(found.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(found, { url, close });
}

let collector: Collector;
const log: string[] = [];
const collecting = (message: string) => void log.push(message);
const quiet = { debug: collecting, info: collecting, warn: collecting, error: collecting };
beforeEach(async () => {
  log.length = 0;
  collector = await openCollector();
});
afterEach(() => collector.close());

const spansOf = ({ documents }: Collector) =>
  documents.flatMap(({ resourceSpans }) => resourceSpans.flatMap((r) => r.scopeSpans.flatMap(({ spans }) => spans)));

function attributesOf({ attributes }: Pick<OtlpSpan, 'attributes'>): Record<string, string | number | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

/** `run > pipeline > window`, for every span, each way once. */
function waysOf(spans: readonly OtlpSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const way = (span: OtlpSpan): string => {
    const parent = byId.get(span.parentSpanId ?? '');
    return parent ? `${way(parent)} > ${span.name}` : span.name;
  };
  return [...new Set(spans.map(way))].sort();
}

describe('the spans of a night', () => {
  it('are one tree from the run to its calls and loads, and say no secret and no query', async () => {
    const world = await openWorld({ ordersPerDay: 30, lookbackDays: 2, windowDays: 1 });
    try {
      world.sandbox.addFault({ endpoint: 'orders', kind: 'status', status: 503 });
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret%20key',
        OTEL_SERVICE_NAME: 'etl-of-the-shop',
      };
      const { clock } = world;
      const { tracer, close } = await openTracing({ env, version: '1.2.3', clock, log: quiet });
      const { run, errors } = await world.night({ names: ['orders'], tracer });
      expect(errors).toEqual([]);
      clock.passUpTo(-1);
      await close();
      expect(log).toEqual([]);
      expect([...new Set(collector.heads.map((head) => JSON.stringify(head)))]).toEqual([
        JSON.stringify({ path: '/v1/traces', key: 'a secret key' }),
      ]);
      const resource = attributesOf(collector.documents[0]!.resourceSpans[0]!.resource);
      expect(resource).toMatchObject({ 'service.name': 'etl-of-the-shop', 'service.version': '1.2.3' });
      const spans = spansOf(collector);
      expect(waysOf(spans)).toEqual([
        'run',
        'run > pipeline',
        'run > pipeline > window',
        'run > pipeline > window > GET report-orders',
        'run > pipeline > window > load',
        'run > pipeline > window > normalise',
        'run > publish',
        'run > publish > checks',
        'run > publish > load',
      ]);
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
      const calls = spans.filter(({ name }) => name === 'GET report-orders').map(attributesOf);
      expect(calls[0]).toEqual({
        'http.request.method': 'GET',
        'http.response.status_code': 503,
        'url.path': '/marketing/affiliate/reports/v2/order-report',
        'error.type': 'http_503',
        'partner_etl.attempt': 1,
        'partner_etl.pipeline': 'orders',
        'partner_etl.run': run.run_id,
        'partner_etl.request': expect.stringMatching(/^f[0-9a-z]{18}$/),
      });
      expect(calls.map((call) => call['http.response.status_code'])).toEqual([503, 200, 200]);
      const windows = spans
        .filter(({ name }) => name === 'window')
        .map((span) => attributesOf(span)['partner_etl.slice']);
      expect(windows).toEqual(['2026-03-18', '2026-03-19']);
      const [root] = spans.filter(({ name }) => name === 'run');
      expect(attributesOf(root!)).toMatchObject({ 'partner_etl.run': run.run_id, 'partner_etl.result': 'done' });
      expect(spans.every((span) => BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))).toBe(true);
      expect(Number(BigInt(root!.startTimeUnixNano) / 1_000_000n)).toBe(Date.parse(run.started_at));
      expect(JSON.stringify(collector.documents)).not.toMatch(/Bearer|startDate|a secret key/);
    } finally {
      await world.close();
    }
  });
});

describe('a collector that is', () => {
  const clock = new FakeClock();
  const traced = async (env: Record<string, string>) => {
    const tracing = await openTracing({ env, version: '1', clock, log: quiet });
    await spanning(tracing.tracer, 'run', {}, async () => undefined);
    return tracing;
  };

  it('not named costs nothing: no tracer, no close', async () => {
    const { tracer } = await traced({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=1' });
    expect(tracer).toBe(noTracer);
    expect((await traced({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })).tracer).toBe(
      noTracer,
    );
  });

  it('named for traces gets them at that very address', async () => {
    const { close } = await traced({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/mine`,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    });
    await close();
    expect(collector.heads.map(({ path }) => path)).toEqual(['/mine']);
  });

  it('refusing is said once, at the end', async () => {
    collector.status = 400;
    const { close } = await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await close();
    expect(log).toEqual(['1 span did not reach the collector']);
  });

  it('silent keeps nobody for longer than three seconds', async () => {
    collector.status = null;
    const { close } = await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const closing = close();
    await clock.asleep((ms) => ms === 3_000);
    await clock.advance(3_000);
    await closing;
    expect(log).toEqual(['the last spans did not reach the collector']);
  });

  it('no address is wrong usage, and what stands there is not said', async () => {
    await expect(traced({ OTEL_EXPORTER_OTLP_ENDPOINT: 'my-secret:thing' })).rejects.toMatchObject({
      code: 'bad_endpoint',
      message: 'OTEL_EXPORTER_OTLP_ENDPOINT is no address that spans can be sent to',
    });
  });
});

it('what is sent to a collector in headers is a secret, as it stands and decoded', () => {
  const env = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0,x=short' };
  expect(secretsIn(env)).toEqual(['Basic c2VjcmV0', 'short']);
});
