/** What `doctor` looks at. Every check is small, changes nothing that stays, and knows the fix. */
import { access, constants, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { AREAS } from '../../core/source.ts';
import { Engine, quoteText } from '../../engine/duckdb.ts';
import type { PartnerSettings } from '../../partner/settings.ts';
import { broken, type CheckState, type Finding, guarded, type NamedFinding, ok, skipped, warning } from './finding.ts';
import { checkHomeParts, checkHomeRights } from './home.ts';
import { checkSignatures } from './signature.ts';
import { checkState } from './state.ts';

/** What the checks reach out to; each is handed in, so that a check is the same against anything. */
export interface DoctorWorld {
  readonly config: Config;
  readonly clock: Clock;
  /** As in process.versions.node. */
  readonly nodeVersion: string;
  /** The user we are; null where files have no owners. */
  readonly uid: number | null;
  /** Whether the DuckDB warehouse can be made or replaced, and is one that this program understands. */
  readonly warehouse: () => Promise<Finding>;
  /** The Postgres that is turned on: its version, our rights, its time zones. */
  readonly postgres: () => Promise<Finding>;
  /** The DuckLake that is turned on: extensions, the catalog's server, our rights. */
  readonly ducklake: () => Promise<Finding>;
  /** Whether push messages can come in. */
  readonly receiver: () => Promise<Finding>;
  /** What lies on disk of the token, without asking for one. */
  readonly tokenState: () => Promise<Finding>;
  /** A token, asked for when none is on disk: at most one request. null: not wanted. */
  readonly online: (() => Promise<Finding>) | null;
  /** A call to every endpoint, and what hangs on the answers; none where `online` found no token. */
  readonly service: () => Promise<readonly NamedFinding[]>;
}

/** The oldest Node that works; package.json says the same. */
export const NODE_FLOOR = '20.19.0';
const MIB = 1024 * 1024;
/** A night of a large partner with its raw store and lake stays well below this. */
const ROOMY_MIB = 2048;
/** Below this not even a small night is sure to fit. */
const LEAST_MIB = 256;

export async function runChecks(world: DoctorWorld): Promise<NamedFinding[]> {
  const checks: readonly (readonly [string, () => Finding | Promise<Finding>])[] = [
    ['node', () => checkNode(world.nodeVersion)],
    ['settings', () => checkSettings(world.config)],
    ['today', () => checkToday(world.config)],
    ['eans', () => checkEans(world.config)],
    ['home', () => checkHome(world.config.home.root)],
    ['rights', () => checkHomeRights(world.config.home.root, world.uid)],
    ['owners', () => checkHomeParts(world.config.home.root, world.uid)],
    ['state', () => checkState(world.config, world.uid, world.clock)],
    ['disk', () => checkDisk(world.config.home.root)],
    ['duckdb', checkDuckdb],
    ['warehouse', world.warehouse],
    ['time zone', () => checkTimeZone(world.config.timeZone)],
    ['postgres', world.postgres],
    ['ducklake', world.ducklake],
    ['receiver', world.receiver],
    ['signatures', checkSignatures],
    ['credentials', () => checkCredentials(world.config)],
    ['token', world.tokenState],
    [
      'online',
      world.online ??
        (() => skipped('not asked for: --online gets a token, with one request at the most, and calls every endpoint')),
    ],
  ];
  const findings: NamedFinding[] = [];
  // One after the other: a machine in trouble is not helped by five things at once.
  for (const [check, look] of checks) findings.push({ check, ...(await guarded(look)) });
  // Without a token every call would fail for the same reason.
  const hasToken = findings.at(-1)?.state === 'ok';
  return world.online !== null && hasToken ? [...findings, ...(await world.service())] : findings;
}

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = NODE_FLOOR.split('.').map(Number);
  const isOld = major < leastMajor || (major === leastMajor && minor < leastMinor);
  return isOld ? broken(`Node ${version} is too old`, `install Node ${NODE_FLOOR} or newer`) : ok(`Node ${version}`);
}

function checkSettings(config: Config): Finding {
  const files = config.files.join(' and ');
  if (config.warnings.length === 0) return ok(files);
  return warning(`${files}: ${config.warnings.join('; ')}`, 'fix the environment, or ignore it knowingly');
}

function checkToday({ today }: Config): Finding {
  if (today === null) return ok('by the clock');
  return warning(
    `${today} is pretended: every run is made for that day, and on any other one no alert is sent`,
    'unset PARTNER_ETL_TODAY: it is there to reproduce a night; it stands in the environment, in .env or in what starts the program',
  );
}

async function checkEans({ eans: { file, query } }: Config): Promise<Finding> {
  const asked = query === null ? [] : ['a query on the warehouse'];
  if (file === null && query === null)
    return warning(
      'neither a file nor a query: products and commission-rates ask about nothing',
      'set eans.file or eans.query',
    );
  if (file === null) return ok(asked.join());
  try {
    await access(file, constants.R_OK);
    return ok([file, ...asked].join(' and '));
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return broken(`${file} cannot be read (${code})`, 'put the file there, or name another one in eans.file');
  }
}

async function checkHome(home: string): Promise<Finding> {
  const there = await nearestFolder(home);
  const fix = 'let this user write there, or name another folder in PARTNER_ETL_HOME';
  try {
    if (there !== home) {
      await access(there, constants.W_OK);
      return ok(`${home} will be made by the first run`);
    }
    // Rights alone do not show a read-only mount.
    await rm(await mkdtemp(path.join(home, '.doctor-')), { recursive: true });
    return ok(home);
  } catch (error) {
    return broken(`${there} cannot be written to (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, fix);
  }
}

async function checkDisk(home: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(await nearestFolder(home));
  return judgeDisk(Math.floor((bavail * bsize) / MIB));
}

export function judgeDisk(freeMiB: number): Finding {
  const detail = `${freeMiB.toLocaleString('en-US')} MiB free`;
  const fix = 'make room, or name a folder on a larger disk in PARTNER_ETL_HOME';
  if (freeMiB < LEAST_MIB) return broken(detail, fix);
  return freeMiB < ROOMY_MIB ? warning(detail, fix) : ok(detail);
}

/** The folder itself, or the nearest one above it that exists. */
async function nearestFolder(folder: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    const isThere = await access(at).then(
      () => true,
      () => false,
    );
    if (isThere || at === path.dirname(at)) return at;
  }
}

const EXTENSIONS = ['icu', 'json', 'parquet'];

async function checkDuckdb(): Promise<Finding> {
  return withEngine(async (engine) => {
    const { version } = await engine.row('SELECT version() AS version');
    const rows = await engine.rows('SELECT extension_name AS name FROM duckdb_extensions() WHERE loaded');
    const loaded = rows.map(({ name }) => String(name));
    const missing = EXTENSIONS.filter((name) => !loaded.includes(name));
    if (missing.length === 0) return ok(`DuckDB ${String(version)} with ${EXTENSIONS.join(', ')}`);
    return broken(`DuckDB ${String(version)} lacks ${missing.join(', ')}`, 'install the package again: npm ci');
  });
}

/** Of winter and of summer. */
const INSTANTS = ['2024-01-15T12:00:00Z', '2024-07-15T12:00:00Z'];

/** What a clock in the zone shows, by Node's zone data: `13:00`. */
function clockAt(instant: string, zone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
  return format.format(new Date(instant));
}

/** What a Postgres is asked about the zone, and the one right answer. */
export function zoneQuestion(zone: string): { readonly sql: string; readonly answer: string } {
  const parts = INSTANTS.map((at) => `to_char(TIMESTAMPTZ '${at}' AT TIME ZONE ${quoteText(zone)}, 'HH24:MI')`);
  return {
    sql: `SELECT ${parts.join(" || ' ' || ")} AS at`,
    answer: INSTANTS.map((at) => clockAt(at, zone)).join(' '),
  };
}

/** Both zone databases in use must know the zone and agree on it: Node's decides on days, DuckDB's on order times. */
async function checkTimeZone(zone: string): Promise<Finding> {
  return withEngine(async (engine) => {
    for (const instant of INSTANTS) {
      const sql = `SELECT strftime(TIMESTAMPTZ ${quoteText(instant)} AT TIME ZONE ${quoteText(zone)}, '%H:%M') AS at`;
      const inDuckdb = String((await engine.row(sql)).at);
      const inNode = clockAt(instant, zone);
      if (inDuckdb !== inNode)
        return broken(
          `${zone} at ${instant} is ${inNode} for Node and ${inDuckdb} for DuckDB`,
          'install a Node with full time zone data (the official builds have it)',
        );
    }
    return ok(zone);
  });
}

async function withEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const tempDir = await mkdtemp(path.join(tmpdir(), 'partner-etl-doctor-'));
  try {
    const engine = await Engine.open({ tempDir });
    try {
      return await work(engine);
    } finally {
      engine.close();
    }
  } finally {
    await rm(tempDir, { recursive: true, force: true });
  }
}

function checkCredentials({ partners, partnerMissing }: Config): Finding {
  const judged = AREAS.map((area) => {
    const partner = partners[area];
    const verb = partnerMissing[area].length === 1 ? 'is' : 'are';
    return { area, text: partner ? clientOf(partner) : `${partnerMissing[area].join(', ')} ${verb} not set` };
  });
  const texts = [...new Set(judged.map(({ text }) => text))];
  const areasOf = (text: string) => judged.filter((one) => one.text === text).map(({ area }) => area);
  // Areas are named only where they differ; mostly one pair serves them all.
  const detail =
    texts.length === 1 ? texts[0]! : texts.map((text) => `${areasOf(text).join(', ')}: ${text}`).join('; ');
  if (AREAS.every((area) => partners[area] !== null)) return ok(detail);
  return broken(detail, 'set what is missing in the environment; to try without credentials: partner-etl sandbox');
}

export function clientOf({ credentials, baseUrl }: PartnerSettings): string {
  return `client ${credentials.clientId} at ${baseUrl}`;
}

const GRAVITY: readonly CheckState[] = ['broken', 'warning', 'ok', 'skipped'];

/** Several findings as one: the state and the fix of the gravest, the details of all. */
export function together(findings: readonly { readonly about: string; readonly finding: Finding }[]): Finding {
  if (findings.length === 1) return findings[0]!.finding;
  const [gravest] = findings.toSorted((a, b) => GRAVITY.indexOf(a.finding.state) - GRAVITY.indexOf(b.finding.state));
  if (gravest === undefined) return skipped('needs credentials');
  const detail = findings.map(({ about, finding }) => `${about}: ${finding.detail}`).join('; ');
  return { ...gravest.finding, detail };
}
