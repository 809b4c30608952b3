/**
 * Spans for a collector that speaks OTLP over HTTP, as JSON. The only place that knows OpenTelemetry, and it loads it only when the
 * environment names an endpoint: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces behind it.
 *
 * A collector that is slow or away costs a run nothing but the last seconds: spans wait in a queue that has an end, are sent beside the
 * work, and what has not gone out `FLUSH_MS` after the end is lost.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span as OtelSpan, Tracer as OtelTracer } from '@opentelemetry/api';
import { type Environment, variable } from '../../config/environment.ts';
import { otlpHeaders } from '../../config/otlp-headers.ts';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { noTracer, type Span, type SpanFields, type Tracer } from '../../core/tracer.ts';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is left, for some seconds at the most. Never rejects. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly env: Environment;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

const FLUSH_MS = 3_000;
/** One delivery. No longer than the flush, since the process lives until its connection is closed. */
const DELIVERY_MS = 3_000;
const MOST_QUEUED = 4096;
/** Names of ours, as attributes: what has a dot in it is a name of OpenTelemetry's. */
const OURS = 'partner_etl.';

/** Errors: `usage/bad_endpoint` when what the environment names is no address. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const url = endpointIn(options.env);
  if (url === null) return { tracer: noTracer, close: async () => undefined };
  const { env, version, clock, log } = options;
  const [{ trace, ROOT_CONTEXT, SpanStatusCode }, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
  const exporter = new OTLPTraceExporter({ url, headers: otlpHeaders(env), timeoutMillis: DELIVERY_MS });
  const send = exporter.export.bind(exporter);
  let lost = 0;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      // Said once, at the end: a collector that is away must not fill the log of a night.
      if (result.code !== 0) lost += spans.length;
      done(result);
    });
  const processor = new sdk.BatchSpanProcessor(exporter, { maxQueueSize: MOST_QUEUED });
  const service = variable(env, 'OTEL_SERVICE_NAME') ?? 'partner-etl';
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }),
    spanProcessors: [processor],
  });
  const within = (parent: OtelSpan | undefined) => (parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT);
  const tracer = tracerOver(provider.getTracer('partner-etl', version), within, SpanStatusCode.ERROR, clock);
  const close = async () => {
    const isDone = await inTime(clock, provider.shutdown());
    if (!isDone || lost > 0)
      log.warn(
        `${lost === 0 ? 'the last spans' : `${lost} ${lost === 1 ? 'span' : 'spans'}`} did not reach the collector`,
        {
          code: 'traces_lost',
          hint: 'check OTEL_EXPORTER_OTLP_ENDPOINT, and that something takes OTLP over HTTP there; the run itself is not concerned',
        },
      );
  };
  return { tracer, close };
}

/** Where spans go; null: nowhere. Errors: `usage/bad_endpoint`. */
function endpointIn(env: Environment): string | null {
  if (variable(env, 'OTEL_SDK_DISABLED')?.trim().toLowerCase() === 'true') return null;
  const traces = variable(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')?.trim();
  const all = variable(env, 'OTEL_EXPORTER_OTLP_ENDPOINT')?.trim();
  const url = traces ?? (all === undefined ? null : `${all.replace(/\/+$/, '')}/v1/traces`);
  if (url === null || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) return url;
  const name = traces === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  throw new EtlError('usage', 'bad_endpoint', `${name} is no address that spans can be sent to`, {
    hint: 'an address such as http://127.0.0.1:4318 is accepted; without it no spans are made',
  });
}

type Within = (parent: OtelSpan | undefined) => Parameters<OtelTracer['startSpan']>[2];

function tracerOver(tracer: OtelTracer, within: Within, failed: number, clock: Clock): Tracer {
  const inHand = new AsyncLocalStorage<OtelSpan>();
  const open = (name: string, fields: SpanFields = {}): Span => {
    const startTime = new Date(clock.now());
    const span = tracer.startSpan(name, { startTime, attributes: attributesOf(fields) }, within(inHand.getStore()));
    return {
      set: (more) => void span.setAttributes(attributesOf(more)),
      within: (work) => inHand.run(span, work),
      fail: (error) => {
        if (error === undefined || error === null) return;
        // Only the code: a message may hold what the service said.
        const { code } = error as { readonly code?: unknown };
        const message = typeof code === 'string' ? code : 'unexpected';
        span.setAttribute('error.type', message).setStatus({ code: failed, message });
      },
      end: () => span.end(new Date(clock.now())),
    };
  };
  return { open };
}

function attributesOf(fields: SpanFields): Record<string, string | number> {
  const known = Object.entries(fields).flatMap(([name, value]) =>
    value === null ? [] : [[name.includes('.') ? name : `${OURS}${name}`, value] as const],
  );
  return Object.fromEntries(known);
}

/** Whether it was done within the time that is left to it. */
async function inTime(clock: Clock, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const late = clock.sleep(FLUSH_MS, over.signal).then(
    () => false,
    () => false, // it was done
  );
  const done = work.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    over.abort();
  }
}
