/** The reductions file, from loopback to the warehouse: the first one, and that of the next day. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Engine, quoteText } from '../../../src/engine/duckdb.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import type { StoredFile } from './lookups-file.ts';
import type { Night } from './lookups-night.ts';
import { compress } from './orders-answer.ts';
import { inProcess, type Result, timed } from './place.ts';

const START = Date.parse('2026-03-20T02:00:00Z');
const DAY_MS = 86_400_000;
/** EANs that may have reductions; on a day some 400,000 lines of them stand in the file. */
const SERIES = 660_000;
const MOST_MS = 5000;
const MOST_MIB = 700;

interface MadeFile extends StoredFile {
  readonly lines: number;
  readonly bytes: number;
}

export async function reductions(dir: string): Promise<Result[]> {
  const home = path.join(dir, 'reductions');
  await mkdir(home, { recursive: true });
  const [first, second] = await makeFiles(home);
  const limitMs = await limitOf(home, second.file);
  const server = fork(path.join(import.meta.dirname, 'lookups-file.js'));
  const [port] = (await once(server, 'message')) as [number];
  const address = `http://127.0.0.1:${port}`;
  const settings = path.join(home, 'settings.yaml');
  await writeFile(settings, '{}\n');
  const env = {
    PARTNER_BASE_URL: address,
    PARTNER_AUTH_URL: address,
    PARTNER_CLIENT_ID: 'bench',
    PARTNER_CLIENT_SECRET: 'bench-secret',
    PARTNER_ETL_HOME: home,
    PARTNER_ETL_CONFIG: settings,
  };
  const night = async (laterMs: number, stored: StoredFile) => {
    server.send(stored);
    await once(server, 'message');
    return inProcess<Night>('lookups-night.js', [String(START - Date.now() + laterMs), 'reductions'], env);
  };
  try {
    const nights = [await night(0, first), await night(DAY_MS, second)] as const;
    return [
      result(`reductions file of ${about(first)}, the first one`, nights[0], limitMs),
      result(`reductions file of ${about(second)}, the day after`, nights[1], limitMs),
    ];
  } finally {
    server.disconnect();
  }
}

function result(name: string, night: Night, limitMs: number): Result {
  const { wallMs, cpuMs, peakMiB, rows } = night;
  return {
    name,
    figure: `${wallMs} ms from the first call to the warehouse (${cpuMs} ms of CPU), ${peakMiB} MiB at most; ${rows.toLocaleString('en-US')} rows told`,
    limit: `${limitMs} ms: DuckDB alone, the file → Parquet`,
    ratio: wallMs / limitMs,
    target: `≤ ${MOST_MS / 1000} s, ≤ ${MOST_MIB} MiB`,
    met: wallMs <= MOST_MS && peakMiB <= MOST_MIB,
    raw: { ...night, limitMs },
  };
}

const about = ({ lines, bytes }: MadeFile) =>
  `${lines.toLocaleString('en-US')} lines, ${(bytes / 1_000_000).toFixed(1)} MB`;

/** Those of a day and of the next one, with and without `.gz`. */
async function makeFiles(dir: string): Promise<[MadeFile, MadeFile]> {
  let now = START;
  const sandbox = await startSandbox({ seed: 1, ordersPerDay: 60, now: () => now, seriesLength: SERIES });
  const make = async (): Promise<MadeFile> => {
    const { name, text } = sandbox.reductionsFile();
    const file = path.join(dir, name);
    await writeFile(file, text);
    await compress(file);
    return { name, file, lines: text.split('\n').length - 2, bytes: Buffer.byteLength(text) };
  };
  try {
    const first = await make();
    now += DAY_MS;
    return [first, await make()];
  } finally {
    await sandbox.close();
  }
}

/** The limit: the same file read and written by DuckDB alone, without a question to what was known. */
async function limitOf(dir: string, file: string): Promise<number> {
  const engine = await Engine.open({ tempDir: path.join(dir, 'limit'), memoryMiB: 512 });
  const columns = `{EAN: 'VARCHAR', MaximumPrice: 'DECIMAL(18,6)', CostReduction: 'DECIMAL(18,6)', StartDate: 'DATE', EndDate: 'DATE'}`;
  try {
    const { ms } = await timed(() =>
      engine.run(
        `COPY (SELECT * FROM read_csv(${quoteText(file)}, header = true, auto_detect = false, delim = ',', columns = ${columns}))
           TO ${quoteText(`${file}.parquet`)} (FORMAT parquet, COMPRESSION zstd)`,
      ),
    );
    return ms;
  } finally {
    engine.close();
  }
}
