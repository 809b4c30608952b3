/** Answer on loopback → raw store → Parquet, and its memory. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { orders } from '../../../pipelines/orders.ts';
import { splitAnswer } from '../../../src/extract/answer.ts';
import { compress, RANGE, writeAnswer } from './orders-answer.ts';
import { inProcess, type Result } from './place.ts';

/** Also the steps of the run, in milliseconds since it began. */
interface Ingested extends Record<string, number> {
  readonly rows: number;
  readonly peakMiB: number;
}

export async function ingest(dir: string): Promise<Result[]> {
  const million = await measure(dir, 1_000_000);
  const triple = await measure(dir, 3_000_000);
  const rate = (m: Measured, kind: 'plain' | 'gzip') => Math.round((m.rows / m[kind]['lake-committed']!) * 1000);
  const limit = Math.round((million.rows / million.limitMs) * 1000);
  const n = (value: number) => value.toLocaleString('en-US');
  return [
    {
      name: 'answer on loopback → raw → Parquet, 1,000,000 rows',
      figure: `${n(rate(million, 'plain'))} rows/s plain, ${n(rate(million, 'gzip'))} rows/s gzip`,
      limit: `${n(limit)} rows/s: DuckDB alone, ready lines → Parquet`,
      target: '≥ 120,000 rows/s',
      met: rate(million, 'plain') >= 120_000,
      ratio: million.plain['lake-committed']! / million.limitMs,
      raw: {
        plainMs: million.plain['lake-committed']!,
        gzipMs: million.gzip['lake-committed']!,
        limitMs: million.limitMs,
      },
    },
    {
      name: 'peak memory, one answer of 1,000,000 and of 3,000,000 rows',
      figure: `${million.plain.ingestPeakMiB} and ${triple.plain.ingestPeakMiB} MiB (with loading: ${million.plain.peakMiB} and ${triple.plain.peakMiB})`,
      limit: '',
      target: '≤ 700 MB, and no more for 3,000,000',
      met: Math.max(million.plain.peakMiB, triple.plain.peakMiB) <= 700,
      raw: { millionMiB: million.plain.peakMiB, tripleMiB: triple.plain.peakMiB },
    },
  ];
}

interface Measured {
  readonly rows: number;
  readonly plain: Ingested;
  readonly gzip: Ingested;
  readonly limitMs: number;
}

async function measure(dir: string, rows: number): Promise<Measured> {
  const file = path.join(dir, `answer-${rows}.json`);
  await writeAnswer(file, rows);
  await compress(file);
  const plain = await served(dir, file, { isGzip: false });
  const gzip = await served(dir, file, { isGzip: true });
  const lines = path.join(dir, 'lines');
  await mkdir(lines, { recursive: true });
  const { linesFile } = await splitAnswer(createReadStream(file), orders, lines);
  const { ms: limitMs } = await inProcess<{ ms: number }>('limit-child.js', [linesFile, path.join(dir, 'limit')]);
  for (const made of [file, `${file}.gz`, lines, path.join(dir, 'limit')])
    await rm(made, { recursive: true, force: true });
  return { rows, plain, gzip, limitMs };
}

interface Serving {
  readonly isGzip: boolean;
  /** Up to which day is asked, where that is not all of it. */
  readonly to?: string;
}

/** Takes in the answer in a file by the real run, in a home of its own. */
export async function served(dir: string, file: string, { isGzip, to = RANGE.to }: Serving): Promise<Ingested> {
  const home = path.join(dir, 'home');
  const server = fork(path.join(import.meta.dirname, 'server.js'), [file], {
    env: { ...process.env, BENCH_GZIP: isGzip ? '1' : '0' },
  });
  const [port] = (await once(server, 'message')) as [number];
  try {
    return await inProcess<Ingested>('ingest-child.js', [String(port), home, '31', to]);
  } finally {
    server.disconnect();
    await rm(home, { recursive: true, force: true });
  }
}
