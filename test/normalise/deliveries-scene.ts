/** Deliveries of push messages, taken in and committed to a lake that is a map. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { pushDeliveries, pushMessages } from '../../pipelines/push-messages.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';
import { Engine, quoteList } from '../../src/engine/duckdb.ts';
import type { CurrentSlices } from '../../src/normalise/changed-slices.ts';
import { type TakenDeliveries, takeDeliveries } from '../../src/normalise/deliveries.ts';
import { linesSource } from '../../src/normalise/observed.ts';

/** A delivery as a test spells it: which message, when, by which fetch at which place. */
export interface Given {
  readonly message: string;
  /** Time of the message. */
  readonly timestamp: string;
  /** Time of the delivery. */
  readonly at: string;
  readonly fetch: string;
  readonly place: number;
  readonly body?: string;
}

type Slices = Map<string, { file: string | null; rejectsFile: string | null; digest: string }>;

export interface DeliveriesScene {
  /** By pipeline and day. */
  readonly lake: Map<string, Slices>;
  readonly engine: Engine;
  /** Takes deliveries in and commits what comes of it. */
  take(given: readonly Given[], more?: readonly object[]): Promise<TakenDeliveries>;
  select(pipeline: Pipeline, columns: string, order?: string): Promise<string[]>;
  /** What the lake holds of the messages. */
  messages(): Promise<string[]>;
}

const SEEN = `resource_id, received_on, strftime(first_delivered_at, '%d %H:%M'), strftime(last_delivered_at, '%d %H:%M'), deliveries, bodies, delivery_id`;

export const AT = '2026-03-20T10:00:00.000Z';

/** Registers the hooks that give every test of the file an empty lake; the returned object is valid inside tests. */
export function useDeliveries(): DeliveriesScene {
  let folder: string;
  let engine: Engine;
  const lake = new Map<string, Slices>();
  let rounds = 0;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'etl-deliveries-'));
    engine = await Engine.open({ tempDir: path.join(folder, 'spill') });
  });
  afterAll(async () => {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => lake.clear());
  afterEach(async () => {
    expect(await engine.rows('SELECT table_name FROM information_schema.tables')).toEqual([]);
  });

  function currentOf(pipeline: Pipeline): CurrentSlices {
    const slices = lake.get(pipeline.name) ?? new Map();
    const before = [...slices.values()];
    return {
      knownFiles: before.flatMap((slice) => slice.file ?? []),
      rejectFiles: before.flatMap((slice) => slice.rejectsFile ?? []),
      slice: (day) => slices.get(day) ?? { file: null, rejectsFile: null },
      digest: (day) => slices.get(day)?.digest ?? null,
    };
  }

  async function take(given: readonly Given[], more: readonly object[] = []): Promise<TakenDeliveries> {
    const file = path.join(folder, `${rounds++}.ndjson`);
    const lines = [...given.map(lineOf), ...more].map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(file, lines.join(''));
    const observed = (pipeline: Pipeline) => ({
      pipeline,
      lines: lines.length,
      source: linesSource(pipeline, file, 2000),
    });
    const result = await takeDeliveries(engine, {
      messages: { observed: observed(pushMessages), current: currentOf(pushMessages) },
      deliveries: { observed: observed(pushDeliveries), current: currentOf(pushDeliveries) },
      refusedFiles: [],
      fetchId: 'f-none',
      atMs: Date.parse('2026-03-22T02:00:00Z'),
      timeZone: 'UTC',
      outDir: path.join(folder, `out-${rounds++}`),
    });
    for (const { pipeline, content, file: rows, rejectsFile } of result.slices) {
      const slices = lake.get(pipeline.name) ?? new Map();
      lake.set(pipeline.name, slices.set(content.day, { file: rows, rejectsFile, digest: content.digest }));
    }
    return result;
  }

  async function select(pipeline: Pipeline, columns: string, order = '1'): Promise<string[]> {
    const files = [...(lake.get(pipeline.name)?.values() ?? [])].flatMap(({ file }) => file ?? []);
    if (files.length === 0) return [];
    const rows = await engine.rows(
      `SELECT concat_ws(' ', ${columns}) AS text FROM read_parquet(${quoteList(files)}) ORDER BY ${order}`,
    );
    return rows.map(({ text }) => String(text));
  }

  return {
    lake,
    get engine() {
      return engine;
    },
    take,
    select,
    messages: () => select(pushMessages, SEEN),
  };
}

export function lineOf({ message, timestamp, at, fetch, place, body = '' }: Given, i: number) {
  return {
    _i: String(i),
    _f: fetch,
    _raw: `{"message":"${message}"}`,
    retailerId: '1234567',
    timestamp,
    resource: 'PROCESS_STATUS',
    type: 'SUCCESS',
    resourceId: message,
    metadata: `[{"key":"from","value":"${fetch}/${place}"}]`,
    keyId: '0',
    bodySha256: `${message}${body}`,
    receivedOn: at.slice(0, 10),
    receivedAt: at,
    firstDeliveredAt: at,
    lastDeliveredAt: at,
    deliveries: '1',
    bodies: '1',
    deliveryId: `${fetch}-${place}`,
    sourceAddress: '127.0.0.1',
  };
}
