/**
 * What a user would pick instead, against ours: the same report, machine and run. PEERS_ROWS (1,000,000 unless told), PEERS_SECONDS
 * for each load (180), and PEERS (names, with commas) scale it down. Whoever cannot be installed is told so and left out.
 */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { startPostgres } from '../../../support/postgres.ts';
import type { Result } from '../place.ts';
import { CONTESTANTS, OURS } from './contestants.ts';
import { Absent, withoutAddress } from './installed.ts';
import type { EngineName, Peer } from './peer.ts';
import { type Conduct, DAYS, raceForConduct, raceForSpeed, type Speed, type Surroundings } from './race.ts';

interface Outcome {
  readonly peer: string;
  readonly version: string;
  readonly engine: EngineName;
  readonly speed: Speed | null;
  readonly conduct: Conduct | null;
  /** Why there is none of the two. */
  readonly failure: string;
}

const n = (value: number) => value.toLocaleString('en-US');

export async function peers(dir: string): Promise<Result[]> {
  const rows = Number(process.env.PEERS_ROWS ?? 1_000_000);
  const timeoutMs = Number(process.env.PEERS_SECONDS ?? 180) * 1000;
  const wanted = process.env.PEERS?.split(',');
  const folder = path.join(dir, 'peers');
  mkdirSync(folder, { recursive: true });
  const server = await startPostgres();
  const outcomes: Outcome[] = [];
  const absent: string[] = [];
  try {
    const surroundings = { dir: folder, postgresUrl: server.url, itemsADay: Math.round(rows / DAYS), timeoutMs };
    for (const [name, make] of Object.entries(CONTESTANTS)) {
      if (wanted && name !== 'ours' && !wanted.includes(name)) continue;
      try {
        const peer = await make(folder);
        for (const engine of peer.engines) {
          const outcome = await race(peer, engine, surroundings);
          outcomes.push(outcome);
          process.stderr.write(`    ${figureOf(outcome, timeoutMs)}\n`); // half an hour is not to be lost at its end
        }
      } catch (error) {
        if (!(error instanceof Absent)) throw error;
        absent.push(`${name} takes no part: ${error.message}`);
        process.stderr.write(`  ${absent.at(-1)}\n`);
      }
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const results = outcomes.map((outcome) => resultOf(outcome, ownOf(outcomes, outcome.engine), rows, timeoutMs));
  const [first, ...others] = results;
  return first ? [{ ...first, below: [...tableOf(outcomes, timeoutMs), ...absent] }, ...others] : [];
}

async function race(peer: Peer, engine: EngineName, surroundings: Surroundings): Promise<Outcome> {
  const about = { peer: peer.name, version: peer.version, engine };
  process.stderr.write(`  ${peer.name} → ${engine} …\n`);
  let speed: Speed | null = null;
  try {
    speed = await raceForSpeed(peer, engine, surroundings);
    return { ...about, speed, conduct: await raceForConduct(peer, engine, surroundings), failure: '' };
  } catch (error) {
    const failure = withoutAddress(error instanceof Error ? error.message : String(error));
    return { ...about, speed, conduct: null, failure };
  }
}

function ownOf(outcomes: readonly Outcome[], engine: EngineName): Speed | null {
  return outcomes.find((one) => one.peer === OURS && one.engine === engine)?.speed ?? null;
}

function secondsOf(speed: Speed, timeoutMs: number): string {
  return speed.wallMs === null ? `> ${timeoutMs / 1000} s` : `${(speed.wallMs / 1000).toFixed(1)} s`;
}

/** How many times ours, with `>` for what was not done in its time. */
function timesOf(speed: Speed, own: Speed | null, timeoutMs: number): string {
  if (own?.wallMs == null) return '';
  return `${speed.wallMs === null ? '> ' : ''}${((speed.wallMs ?? timeoutMs) / own.wallMs).toFixed(1)}`;
}

function memoryTimesOf(speed: Speed, own: Speed | null): string {
  return own === null || own.peakMiB === 0 ? '' : (speed.peakMiB / own.peakMiB).toFixed(1);
}

function figureOf({ speed, conduct, failure }: Outcome, timeoutMs: number): string {
  const told: string[] = [];
  if (speed) {
    told.push(`${secondsOf(speed, timeoutMs)}, ${n(speed.peakMiB)} MiB at most`);
    if (speed.publishMs !== null) told.push(`of it ${(speed.publishMs / 1000).toFixed(1)} s publishing`);
    told.push(`rows: ${speed.rows}`, `sums: ${speed.sums}`);
  }
  if (conduct) {
    const { again, emptied, digits } = conduct;
    told.push(`second run: ${again.told}`, `emptied day: ${emptied.told}`, `digits: ${digits.told}`);
  }
  if (failure !== '') told.push(`failed: ${failure}`);
  return told.join('; ');
}

function resultOf(outcome: Outcome, own: Speed | null, rows: number, timeoutMs: number): Result {
  const { peer, version, engine, speed, conduct } = outcome;
  const isOurs = peer === OURS;
  const times = speed
    ? `${timesOf(speed, own, timeoutMs)} times its time, ${memoryTimesOf(speed, own)} its memory`
    : '';
  const isRight = speed?.rowsRight && speed.sumsExact && conduct?.again.right && conduct.emptied.right;
  return {
    name: `orders report of ${n(rows)} rows, days replaced: ${peer} → ${engine}`,
    figure: figureOf(outcome, timeoutMs),
    limit: isOurs ? 'the peers below' : `${version}; ours in the same run: ${times}`,
    target: isOurs ? 'every row, every sum, every day right' : '',
    met: isOurs ? isRight === true && conduct?.digits.right === true : null,
    raw: rawOf(outcome, isOurs),
  };
}

/** Only our own costs are named by their units, for only they are to be compared with earlier ones. */
function rawOf({ speed, conduct }: Outcome, isOurs: boolean): Record<string, number> {
  const raw: Record<string, number> = {};
  if (speed?.wallMs != null) raw[isOurs ? 'wallMs' : 'peerMilliseconds'] = speed.wallMs;
  if (speed) raw[isOurs ? 'peakMiB' : 'peerMebibytes'] = speed.peakMiB;
  if (speed?.publishMs != null && speed.wallMs !== null) {
    raw.publishMs = speed.publishMs;
    raw.ingestMs = speed.wallMs - speed.publishMs;
  }
  const found = {
    rowsRight: speed?.rowsRight,
    sumsExact: speed?.sumsExact,
    againRight: conduct?.again.right,
    emptiedRight: conduct?.emptied.right,
    digitsRight: conduct?.digits.right,
  };
  for (const [name, right] of Object.entries(found)) if (right !== undefined) raw[name] = right ? 1 : 0;
  return raw;
}

const yes = (right: boolean | undefined) => (right === undefined ? '?' : right ? 'yes' : 'NO');

/** The table of the race; what lies behind a NO is told in the results. */
function tableOf(outcomes: readonly Outcome[], timeoutMs: number): string[] {
  const heads = ['peer', 'engine', 'time', '× ours', 'peak MiB', '× ours'];
  heads.push('rows right', 'sums exact', 'emptied day', 'second run', 'digits kept');
  const lines = outcomes.map(({ peer, engine, speed, conduct }) => {
    const own = ownOf(outcomes, engine);
    const costs = speed
      ? [secondsOf(speed, timeoutMs), timesOf(speed, own, timeoutMs), n(speed.peakMiB), memoryTimesOf(speed, own)]
      : ['failed', '', '', ''];
    const isKnown = speed !== null && speed.wallMs !== null;
    const audited = [isKnown ? yes(speed.rowsRight) : '?', isKnown ? yes(speed.sumsExact) : '?'];
    const conducted = [conduct?.emptied.right, conduct?.again.right, conduct?.digits.right].map(yes);
    return [peer.replace(/[ ,].*/, ''), engine, ...costs, ...audited, ...conducted];
  });
  const widths = heads.map((head, i) => Math.max(head.length, ...lines.map((line) => line[i]!.length)));
  return [heads, ...lines].map((line) =>
    line
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
}
