/**
 * One peer against one engine. The speed: the whole range into an empty place, rows and sums compared with the answer. The conduct,
 * in a small place of its own: the same again, a day that has no rows any more, and amounts that a double cannot hold.
 */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { addDays, type Day, type DayRange } from '../../../../src/core/days.ts';
import { administer } from '../../../support/databases.ts';
import { type Audit, audit, compareSums, differenceOfRows, readItem } from './audit.ts';
import { withoutAddress } from './installed.ts';
import { type Measured, measure } from './measured-command.ts';
import { type Command, DONE, type EngineName, type Load, type Peer, type Place } from './peer.ts';
import { askToken, type Service, startService } from './service.ts';
import { askTruth, type Truth, unitsOf, without } from './truth.ts';

export const RANGE: DayRange = { from: '2026-09-01' as Day, to: '2026-09-30' as Day };
export const DAYS = 30;
const EMPTIED = '2026-09-15' as Day;
const PROBED = '2026-09-20' as Day;
const CONDUCT_ITEMS_A_DAY = 200;

export interface Surroundings {
  readonly dir: string;
  /** A server whose databases may be made and dropped. */
  readonly postgresUrl: string;
  readonly itemsADay: number;
  readonly timeoutMs: number;
}

export interface Speed {
  /** null: it was not done in its time. */
  readonly wallMs: number | null;
  readonly peakMiB: number;
  readonly rowsRight: boolean;
  readonly rows: string;
  readonly sumsExact: boolean;
  readonly sums: string;
  /** Of ours: how much of the time publishing took. */
  readonly publishMs: number | null;
}

/** Each in words, and whether it is as it should be. */
export interface Finding {
  readonly right: boolean;
  readonly told: string;
}

export interface Conduct {
  readonly again: Finding;
  readonly emptied: Finding;
  readonly digits: Finding;
}

/** A load failed; the message holds its last words. */
class Failed extends Error {}

interface Ground {
  readonly service: Service;
  readonly load: (range: DayRange) => Load;
  /** Rejects with Failed, unless the command was done. */
  readonly run: (command: Command) => Promise<Measured>;
  readonly audit: () => Promise<Audit>;
  readonly place: Place;
  readonly folder: string;
}

/** A service and an empty place, which are gone afterwards. */
async function onGround<T>(
  peer: Peer,
  engine: EngineName,
  { dir, postgresUrl, timeoutMs }: Surroundings,
  itemsADay: number,
  work: (ground: Ground) => Promise<T>,
): Promise<T> {
  const folder = path.join(dir, 'place');
  const temporary = path.join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const service = await startService(itemsADay);
  if (engine === 'postgres') await administer(postgresUrl, 'CREATE DATABASE peer');
  const address = new URL(postgresUrl);
  address.pathname = '/peer';
  address.password = 'any'; // the server asks for none, but some clients do
  const place = { engine, address: engine === 'duckdb' ? path.join(folder, 'warehouse.duckdb') : address.href };
  const run = async (command: Command) => {
    const token = await askToken(service.env);
    // What a command leaves in the folder for temporary files, also one that was ended, goes with the place.
    const env = { ...ownEnv(), ...service.env, PARTNER_TOKEN: token, TMPDIR: temporary };
    const found = await measure(command, env, timeoutMs);
    if (found.exitCode === null || DONE.includes(found.exitCode)) return found;
    throw new Failed(`exit code ${found.exitCode}: ${withoutAddress(found.lastWords).slice(-300)}`);
  };
  const load = (range: DayRange) => ({ place, ...range, folder });
  const table = peer.table(engine);
  try {
    return await work({ service, load, run, place, folder, audit: () => audit(place, table, folder) });
  } finally {
    service.end();
    if (engine === 'postgres') await administer(postgresUrl, 'DROP DATABASE peer WITH (FORCE)');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Nothing of what this shell sets for the program itself. */
function ownEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PARTNER_')));
}

export async function raceForSpeed(peer: Peer, engine: EngineName, surroundings: Surroundings): Promise<Speed> {
  return onGround(peer, engine, surroundings, surroundings.itemsADay, async ({ service, load, run, audit: look }) => {
    const { wallMs, peakMiB, exitCode, stdout } = await run(peer.load(load(RANGE)));
    const unknown = { rowsRight: false, rows: 'unknown', sumsExact: false, sums: 'unknown', publishMs: null };
    if (exitCode === null) return { wallMs: null, peakMiB, ...unknown };
    const truth = await askTruth(service, RANGE);
    const found = await look();
    const difference = differenceOfRows(found, truth);
    const { exact, told } = compareSums(found, truth);
    return {
      wallMs,
      peakMiB,
      rowsRight: difference === '',
      rows: difference === '' ? `all ${found.rows.toLocaleString('en-US')}` : difference,
      sumsExact: exact,
      sums: told,
      publishMs: publishMsIn(stdout),
    };
  });
}

/** Only ours prints a document with what each target took. */
function publishMsIn(stdout: string): number | null {
  try {
    const { published = [] } = JSON.parse(stdout) as { published?: readonly { tookMs?: number }[] };
    return published[0]?.tookMs ?? null;
  } catch {
    return null;
  }
}

export async function raceForConduct(peer: Peer, engine: EngineName, surroundings: Surroundings): Promise<Conduct> {
  return onGround(peer, engine, surroundings, CONDUCT_ITEMS_A_DAY, async (ground) => {
    const truth = await askTruth(ground.service, RANGE);
    const whole = peer.load(ground.load(RANGE));
    const first = await ground.run(whole);
    if (first.exitCode === null) {
      const late = { right: false, told: 'not done in its time' };
      return { again: late, emptied: late, digits: late };
    }
    const before = await ground.audit();
    return {
      again: await attempt(() => runAgain(ground, whole, before, truth)),
      emptied: await attempt(() => emptyDay(peer, ground, truth)),
      digits: await attempt(() => probeDigits(peer, engine, ground, truth)),
    };
  });
}

async function attempt(work: () => Promise<Finding>): Promise<Finding> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return { right: false, told: `the load failed: ${error.message}` };
  }
}

async function runAgain({ run, audit: look }: Ground, whole: Command, before: Audit, truth: Truth): Promise<Finding> {
  await run(whole);
  const after = await look();
  const difference = differenceOfRows(after, truth);
  if (difference !== '') return { right: false, told: difference };
  const isSame = [...truth.keys()].every((day) => sameRow(before.days.get(day), after.days.get(day)));
  return isSame ? { right: true, told: 'nothing changed' } : { right: false, told: 'sums differ from the first time' };
}

const sameRow = (a: object = {}, b: object = {}) => JSON.stringify(a) === JSON.stringify(b);

async function emptyDay(peer: Peer, { service, load, run, audit: look }: Ground, truth: Truth): Promise<Finding> {
  await service.order('changes', { kind: 'empty-day', report: 'orders', day: EMPTIED });
  const around = load({ from: addDays(EMPTIED, -1), to: addDays(EMPTIED, 1) });
  await run(peer.load(around));
  const found = await look();
  if (differenceOfRows(found, without(truth, EMPTIED)) === '') return { right: true, told: 'emptied' };
  const left = found.days.get(EMPTIED)?.rows ?? '0';
  if (!peer.release) return { right: false, told: `no: ${left} rows that are no longer true stay` };
  await run(peer.release(around, EMPTIED));
  const isEmptied = differenceOfRows(await look(), without(truth, EMPTIED)) === '';
  return { right: isEmptied, told: isEmptied ? 'held and told, emptied by `release`' : `no: ${left} rows stay` };
}

/** A count of 19 digits, a price of 18, and what JavaScript makes of 0.1 + 0.2. */
const PROBES = {
  quantity: '1234567890123456789',
  priceInclVat: '123456789012.345678',
  commission: '0.30000000000000004',
} as const;
const MILLIONTH = unitsOf('0.000001');

async function probeDigits(peer: Peer, engine: EngineName, ground: Ground, truth: Truth): Promise<Finding> {
  const { service, load, run, place, folder } = ground;
  for (const [field, json] of Object.entries(PROBES))
    await service.order('faults', { endpoint: 'orders', kind: 'raw-value', field, json, item: 0, times: 1000 });
  await run(peer.load(load({ from: PROBED, to: PROBED })));
  const item = truth.get(PROBED)?.firstItem ?? '';
  const row = await readItem(place, peer.table(engine), folder, item);
  if (!row) return { right: false, told: 'the row is missing' };
  const lost = (['quantity', 'priceInclVat'] as const).filter((f) => unitsOf(row[f] ?? '0') !== unitsOf(PROBES[f]));
  const noise = unitsOf(row.commission ?? '0') - unitsOf('0.3');
  const told = lost.map((field) => `${PROBES[field]} became ${row[field]}`);
  if (noise < 0n || noise >= MILLIONTH) told.push(`${PROBES.commission} became ${row.commission}`);
  const kept = `kept: 19 and 18 digits; 0.1+0.2 is ${row.commission}`;
  return { right: told.length === 0, told: told.length === 0 ? kept : told.join('; ') };
}
