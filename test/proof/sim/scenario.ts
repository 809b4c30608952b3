/** A seed → what happens: days, on each some changes of the world, faults on the way, and runs, some of which die. Plain data. */
import type { Aim, PointKind } from './crash-points.ts';
import { POINT_KINDS } from './crash-points.ts';
import { Random } from './random.ts';

export type ChangeKind =
  | 'restate-item'
  | 'dear-item'
  | 'vanish-item'
  | 'move-item'
  | 'empty-day'
  | 'shrink-day'
  | 'add-field'
  | 'reductions-renamed'
  | 'reductions-changed'
  | 'commission-rate'
  | 'revoke-tokens'
  | 'rotate-keys'
  | 'shipments';

/** A change of the world; what it strikes is picked by fractions, because the world is made later. */
export interface PlannedChange {
  readonly kind: ChangeKind;
  /** Days before the day of the scenario, from 1. */
  readonly daysAgo: number;
  /** From [0, 1): which of the things that there are. */
  readonly pick: number;
  readonly other: number;
}

/** As the sandbox takes it. */
export type PlannedFault = Readonly<Record<string, unknown>> & { readonly kind: string; readonly endpoint: string };

export type RunKind = 'night' | 'backfill' | 'night beside backfill' | 'night beside backfill in one process';

export interface PlannedRun {
  readonly kind: RunKind;
  readonly aim: Aim | null;
  /** The death is a power cut: what was not synced is lost. */
  readonly isPowerCut: boolean;
  /** Days before the day of the scenario, for a backfill. */
  readonly backfill: { readonly from: number; readonly to: number; readonly refetch: boolean };
  /** Push messages come meanwhile: in a process of its own, which may die as well. */
  readonly receiver: { readonly aim: Aim | null; readonly isPowerCut: boolean } | null;
}

export interface PlannedDay {
  /** Shared out among the runs: each comes before one of them. */
  readonly changes: readonly PlannedChange[];
  readonly faults: readonly PlannedFault[];
  readonly runs: readonly PlannedRun[];
}

export interface Scenario {
  readonly seed: number;
  readonly isBrief: boolean;
  /** What is loaded: reports, look-ups, pushes. */
  readonly reports: readonly string[];
  readonly hasLookups: boolean;
  readonly hasPushes: boolean;
  /** The warehouse is made by its first night, and not there already, empty. */
  readonly beginsBare: boolean;
  readonly days: readonly PlannedDay[];
  /** In the end the warehouse is lost, and comes back from the lake. */
  readonly losesWarehouse: boolean;
  /** In the end the program's own `verify` is asked as well. */
  readonly isVerified: boolean;
}

export const LOOKBACK_DAYS = 3;
/** How far back a backfill may go. */
const FAR_DAYS = 5;

/** How many of each a night of this size has, about; what is aimed behind its end does not die. */
const POINTS: Readonly<Record<PointKind, number>> = { step: 20, file: 700, statement: 480, request: 50, await: 25_000 };
/** Of the time in which a receiver takes a few messages. */
const RECEIVER_POINTS: Readonly<Record<PointKind, number>> = {
  step: 1,
  file: 60,
  statement: 30,
  request: 4,
  await: 2000,
};

/** What is loaded, each as often as it stands here: brief scenarios have one subject mostly, since the day of a report costs most of them. */
const REPORTS: readonly (readonly string[])[] = [
  ['orders'],
  ['orders'],
  ['orders', 'commissions'],
  ['promotions', 'orders', 'commissions'],
];
const BRIEF_REPORTS: typeof REPORTS = [
  ...Array.from({ length: 7 }, () => ['orders']),
  ['commissions'],
  ['promotions'],
  ['promotions', 'orders', 'commissions'],
];

/** `isBrief`: one day, and little at its end, so that the suite can try many. Another scenario than the seed has otherwise. */
export function scenarioOf(seed: number, isBrief = false): Scenario {
  const random = new Random(seed, isBrief ? 'brief scenario' : 'scenario');
  const share = isBrief ? 0.15 : 0.3;
  const about = { hasLookups: random.chance(share), hasPushes: random.chance(share) };
  const reports = random.pick(isBrief ? BRIEF_REPORTS : REPORTS);
  const days = Array.from({ length: isBrief ? 1 : random.pick([1, 2, 2, 3]) }, () => dayOf(random, about));
  const [losesWarehouse, beginsBare, isVerified] = [random.chance(0.15), random.chance(0.2), random.chance(0.15)];
  const inTheEnd = { losesWarehouse: losesWarehouse && !isBrief, isVerified: isVerified && !isBrief };
  return { seed, isBrief, reports, ...about, beginsBare, days, ...inTheEnd };
}

interface About {
  readonly hasLookups: boolean;
  readonly hasPushes: boolean;
}

function dayOf(random: Random, about: About): PlannedDay {
  const changes = Array.from({ length: random.int(0, 4) }, () => changeOf(random, about));
  const faults = random.chance(0.55) ? Array.from({ length: random.int(1, 3) }, () => faultOf(random, about)) : [];
  const runs = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => runOf(random, about));
  return { changes, faults, runs };
}

function changeOf(random: Random, { hasLookups, hasPushes }: About): PlannedChange {
  const kinds: ChangeKind[] = ['restate-item', 'restate-item', 'dear-item', 'vanish-item', 'move-item', 'move-item'];
  kinds.push('empty-day', 'shrink-day', 'add-field', 'revoke-tokens');
  if (hasLookups) kinds.push('reductions-renamed', 'reductions-changed', 'commission-rate', 'commission-rate');
  if (hasPushes) kinds.push('rotate-keys', 'shipments', 'shipments', 'shipments');
  const kind = random.pick(kinds);
  // Out of days that are no longer asked for items move as well.
  const daysAgo = random.int(1, kind === 'move-item' ? FAR_DAYS : LOOKBACK_DAYS);
  return { kind, daysAgo, pick: random.next(), other: random.next() };
}

function faultOf(random: Random, { hasLookups, hasPushes }: About): PlannedFault {
  const endpoints = ['reports', 'reports', 'orders'];
  if (hasLookups) endpoints.push('commission-bulk', 'reductions', 'reductions-latest');
  const endpoint = random.pick(endpoints);
  const aim = { endpoint, after: random.int(0, 3), times: random.pick([1, 1, 1, 2, 5]) };
  const isReport = endpoint === 'reports' || endpoint === 'orders';
  const makers: (() => PlannedFault)[] = [
    () => ({ kind: 'status', status: 401, ...aim, times: 1 }),
    () => ({ kind: 'status', status: 429, retryAfter: String(random.int(20, 40)), ...aim }),
    () => ({ kind: 'status', status: random.pick([500, 502, 503]), ...aim }),
    () => ({ kind: 'slow-headers', delayMs: random.int(2, 15), ...aim }),
    () => ({ kind: 'cut', bytes: random.int(0, 2500), ...aim }),
    () => ({ kind: 'reset', ...aim }),
    () => ({ kind: 'revoke-tokens', ...aim, times: 1 }),
    () => ({ kind: 'status', endpoint: 'token', status: 503, times: 1 }),
  ];
  if (isReport)
    makers.push(
      () => ({ kind: 'truncate', bytes: random.int(0, 2500), ...aim }),
      () => ({ kind: random.pick(['html', 'garbage']), ...aim }),
      () => ({
        kind: 'shape',
        shape: random.pick([
          'array',
          'no-items',
          'null-items',
          'empty',
          'trailing-text',
          'second-document',
          'trailing-comma',
        ]),
        ...aim,
      }),
      () => ({ kind: random.pick(['duplicate', 'missing-field', 'null-item', 'text-item', 'invalid-utf8']), ...aim }),
      () => ({ kind: random.pick(['number-as-text', 'exponent-number', 'many-decimals']), item: 'all', ...aim }),
      () => ({ kind: 'conflicting-duplicate', ...aim, endpoint: 'orders' }),
    );
  if (endpoint === 'reductions')
    makers.push(() => ({ kind: 'disposition', form: random.pick(['quoted', 'extended', 'both', 'missing']), ...aim }));
  if (hasPushes)
    makers.push(
      () => ({ kind: 'copies', endpoint: 'push', copies: random.int(2, 4), times: 3 }),
      () => ({ kind: 'lose-answer', endpoint: 'push', attempts: random.int(1, 3), times: 2 }),
      () => ({ kind: 'delay', endpoint: 'push', seconds: random.int(1, 400), times: 2 }),
      () => ({ kind: 'status', endpoint: 'signature-keys', status: 503, times: random.int(1, 3) }),
    );
  return random.pick(makers)();
}

function runOf(random: Random, { hasPushes }: About): PlannedRun {
  const kind: RunKind = random.chance(0.7)
    ? 'night'
    : random.pick(['backfill', 'night beside backfill', 'night beside backfill in one process']);
  const isDying = random.chance(0.55);
  const from = random.int(LOOKBACK_DAYS, FAR_DAYS);
  return {
    kind,
    aim: isDying ? aimOf(random, POINTS) : null,
    isPowerCut: random.chance(isDying ? 0.45 : 0.25),
    backfill: { from, to: random.int(1, from), refetch: random.chance(0.5) },
    receiver: hasPushes
      ? { aim: random.chance(0.3) ? aimOf(random, RECEIVER_POINTS) : null, isPowerCut: random.chance(0.5) }
      : null,
  };
}

function aimOf(random: Random, points: Readonly<Record<PointKind, number>>): Aim {
  const kind = random.pick([...POINT_KINDS, 'file', 'file', 'statement'] as const);
  return { kind, at: random.int(1, points[kind]) };
}

/** How often at most the service refuses a token that has not expired. */
export function refusalsOfTokens({ days }: Scenario): number {
  return days.reduce((sum, { changes, faults }) => {
    const revoking = changes.filter(({ kind }) => kind === 'revoke-tokens');
    return (
      sum + revoking.length + faults.filter(({ kind, status }) => kind === 'revoke-tokens' || status === 401).length
    );
  }, 0);
}
