/**
 * What a night costs in which the service says what it said before: time, bytes written, calls, tokens, statements. Both targets are
 * on. The limit is the same answers fetched by undici alone, one after the other, and thrown away.
 */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { homePaths } from '../../../src/core/home.ts';
import type { FetchRecord } from '../../../src/core/records.ts';
import { FolderPlace } from '../../../src/store/raw/folder.ts';
import { RawStore } from '../../../src/store/raw/raw.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { startPostgres } from '../../support/postgres.ts';
import type { Fetched } from './bare-child.ts';
import type { Night } from './night-child.ts';
import { HOUR_MS, type NightHome, openHome } from './night-home.ts';
import { inProcess, type Result } from './place.ts';
import type { Asked } from './sandbox-child.ts';

const LOOKBACKS = [30, 300] as const;
const ROUNDS = 3;

export async function unchanged(dir: string): Promise<Result[]> {
  const found: Measured[] = [];
  for (const days of LOOKBACKS) found.push(await measure(path.join(dir, `unchanged-${days}`), days));
  return [...found.map(inAll), perSlice(found)];
}

interface Measured {
  readonly days: number;
  readonly slices: number;
  /** The quickest of several nights, and of as many times the bare fetches. */
  readonly night: Night;
  readonly bare: Fetched;
  /** Of the last night. */
  readonly asked: Asked;
  readonly left: Left;
  readonly statements: Statements;
}

async function measure(folder: string, days: number): Promise<Measured> {
  const postgres = await startPostgres(['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.max=10000']);
  const admin = new pg.Client({ connectionString: postgres.url });
  try {
    await admin.connect();
    await admin.query('CREATE EXTENSION pg_stat_statements');
    const home = await openHome(folder, { lookbackDays: days, postgresUrl: postgres.url });
    try {
      await home.night();
      return { days, ...(await again(home, folder, admin)) };
    } finally {
      home.close();
    }
  } finally {
    await admin.end();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Nights an hour apart, each with a new token to ask for; the service's day stays the same. */
async function again(home: NightHome, folder: string, admin: pg.Client): Promise<Omit<Measured, 'days'>> {
  const nights: Night[] = [];
  const bares: Fetched[] = [];
  let last: Pick<Measured, 'asked' | 'left' | 'statements'> | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    await home.pass(HOUR_MS);
    await admin.query('SELECT pg_stat_statements_reset()');
    const before = await filesIn(folder);
    nights.push(await home.night());
    last = { asked: await home.pass(0), left: leftSince(before, await filesIn(folder)), statements: await told(admin) };
    bares.push(await fetchedBare(home, folder));
  }
  const night = nights.reduce((a, b) => (a.wallMs < b.wallMs ? a : b));
  const bare = bares.reduce((a, b) => (a.wallMs < b.wallMs ? a : b));
  return { slices: night.changed + night.unchanged, night, bare, ...last! };
}

/** Fetches again, by nothing but undici, what the last night fetched. */
async function fetchedBare(home: NightHome, folder: string): Promise<Fetched> {
  const state = await openSqliteState(homePaths(folder).database);
  const raw = new RawStore({ state, place: new FolderPlace(folder) });
  const all: FetchRecord[] = [];
  for (const pipeline of ['promotions', 'orders', 'commissions'])
    for await (const fetch of raw.fetches(pipeline)) all.push(fetch);
  await state.close();
  const lastRun = all.reduce((latest, { run_id }) => (run_id > latest ? run_id : latest), '');
  const urls = all.filter(({ run_id }) => run_id === lastRun).map(({ url }) => url);
  const bytes = all.reduce((sum, f) => sum + (f.run_id === lastRun ? f.bytes_received : 0), 0);
  const bare = await inProcess<Fetched>('bare-child.js', urls, home.service);
  if (bare.bytes !== bytes) throw new Error(`bare fetches brought ${bare.bytes} bytes, the night ${bytes}`);
  return bare;
}

/** What is new in the home, or was written again. */
interface Left {
  readonly files: readonly string[];
  readonly bytes: number;
  /** Of them those of answers in the raw store, which are put over the same ones so that a damaged one is fixed. */
  readonly answerBytes: number;
}

/** Every file below a folder, by what changes when it is written: its inode, time and size. */
async function filesIn(folder: string): Promise<Map<string, { readonly mark: string; readonly size: number }>> {
  const found = new Map<string, { mark: string; size: number }>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const { ino, mtimeMs, size } = await stat(file);
    found.set(path.relative(folder, file), { mark: `${ino} ${mtimeMs} ${size}`, size });
  }
  return found;
}

type Files = Awaited<ReturnType<typeof filesIn>>;

function leftSince(before: Files, after: Files): Left {
  const written = [...after].filter(([file, { mark }]) => before.get(file)?.mark !== mark);
  const bytesOf = (files: typeof written) => files.reduce((sum, [, { size }]) => sum + size, 0);
  return {
    files: written.map(([file]) => file),
    bytes: bytesOf(written),
    answerBytes: bytesOf(written.filter(([file]) => /^raw\/[^/]+\/answers\//.test(file))),
  };
}

interface Statements {
  readonly all: number;
  /** Those that say to write something or wrote to the log of the database, and which they were. */
  readonly writing: number;
  readonly texts: readonly string[];
  readonly walBytes: number;
}

const WRITES = '^\\s*(insert|update|delete|merge|truncate|copy|create|alter|drop|comment|grant|analyze|vacuum)';

async function told(admin: pg.Client): Promise<Statements> {
  const { rows } = await admin.query<Record<'query' | 'calls' | 'wal_bytes', string>>(
    `SELECT query, calls, wal_bytes, (query ~* $1 OR wal_records > 0) AS writes FROM pg_stat_statements
     WHERE query NOT LIKE '%pg_stat_statements%'`,
    [WRITES],
  );
  const writing = rows.filter((row) => (row as { writes?: unknown }).writes === true);
  const sum = (of: typeof rows, key: 'calls' | 'wal_bytes') => of.reduce((all, row) => all + Number(row[key]), 0);
  return {
    all: sum(rows, 'calls'),
    writing: sum(writing, 'calls'),
    texts: writing.map(({ query, calls }) => `${calls} × ${query.slice(0, 100)}`),
    walBytes: sum(rows, 'wal_bytes'),
  };
}

const WAREHOUSE = 'warehouse.duckdb';

function inAll({ days, slices, night, bare, asked, left, statements }: Measured): Result {
  const isTouched = left.files.includes(WAREHOUSE);
  const isNothing = night.changed === 0 && !isTouched && statements.writing === 0;
  return {
    name: `an unchanged night, ${days} days of lookback (${n(slices)} slices), both targets`,
    figure:
      `${n(night.wallMs)} ms, ${n(night.cpuMs)} ms of CPU; ${asked.calls} calls, ${asked.tokenRequests} for a token; ` +
      `${n(left.bytes)} bytes left in ${left.files.length} files, ${n(left.answerBytes)} of them the answers again; ` +
      `${n(night.dirtiedBytes)} written in all, scratch files included; ` +
      `${statements.writing} of ${statements.all} statements write in Postgres; ` +
      `${night.changed} slices changed, the DuckDB file ${isTouched ? 'was written' : 'untouched'}`,
    limit: `${n(bare.wallMs)} ms, ${n(bare.cpuMs)} ms of CPU: the same ${n(bare.bytes)} bytes by undici alone`,
    ratio: night.wallMs / bare.wallMs,
    target: 'no slice, no statement, no warehouse written; one token at most',
    met: isNothing && asked.tokenRequests <= 1,
    raw: {
      ...night,
      limitMs: bare.wallMs,
      limitCpu: bare.cpuMs,
      leftBytes: left.bytes,
      answerBytes: left.answerBytes,
      leftFiles: left.files.length,
      serviceCalls: asked.calls,
      tokenRequests: asked.tokenRequests,
      statements: statements.all,
      writingStatements: statements.writing,
      walBytes: statements.walBytes,
    },
    ...(statements.writing === 0 ? {} : { below: statements.texts }),
  };
}

/** What one more slice adds, from the shorter lookback to the longer: without what every night costs. */
function perSlice(found: readonly Measured[]): Result {
  const [few, many] = [found[0]!, found.at(-1)!];
  const each = (of: (measured: Measured) => number) => (of(many) - of(few)) / (many.slices - few.slices);
  const wallMs = each(({ night }) => night.wallMs);
  const limitMs = each(({ bare }) => bare.wallMs);
  const bytes = each(({ left }) => left.bytes);
  const share = ({ night, slices }: Measured) => `${(night.wallMs / slices).toFixed(2)} ms of ${n(slices)}`;
  return {
    name: 'each further slice of an unchanged night',
    figure: `${wallMs.toFixed(2)} ms, ${each(({ night }) => night.cpuMs).toFixed(2)} ms of CPU, ${n(bytes)} bytes left; all in all ${share(few)} and ${share(many)} slices`,
    limit: `${limitMs.toFixed(2)} ms: its share of the bare fetches`,
    ratio: wallMs / limitMs,
    target: '',
    met: null,
    // Of a thousand, so that they are times one can tell apart.
    raw: { thousandMs: wallMs * 1000, limitMs: limitMs * 1000, thousandBytes: bytes * 1000 },
  };
}

const n = (value: number): string => Math.round(value).toLocaleString('en-US');
