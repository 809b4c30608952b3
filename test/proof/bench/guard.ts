/**
 * What became slower or larger since a figure was kept last. Compared are the numbers of `raw` whose names end in a unit of time or
 * memory (`wallMs`, `published ms`, `leftBytes`, `peakMiB`): less is better for all of them. Where the same run measured the limit
 * in that unit (`limitMs`), the ratio to it is compared, since machines are noisy.
 */
import type { KeptResult } from './kept.ts';

export interface Change {
  /** Name of the result, and of the number in it. */
  readonly name: string;
  readonly key: string;
  readonly before: number;
  readonly now: number;
  /** Whether `before` and `now` are ratios to the limit of their run. */
  readonly isRatio: boolean;
  /** (now - before) / before: above 0 is worse. */
  readonly change: number;
  readonly commitBefore: string;
  readonly commitNow: string;
}

export interface Comparison {
  /** The largest change first. */
  readonly regressions: readonly Change[];
  readonly improvements: readonly Change[];
  /** Numbers that were compared. */
  readonly compared: number;
  /** Results that were never kept before on such a machine. */
  readonly unknown: readonly string[];
}

export const TOLERATED = 0.15;

/** Less than this is the clock's and the allocator's, not ours. */
const NOISE: Readonly<Record<string, number>> = { Us: 5, Ms: 20, Seconds: 0.02, Bytes: 8192, MiB: 8 };

/** `tookMs` is named in camel case, `published ms` after a step. */
const UNIT = /(?:(Us|Ms|Seconds|Bytes|MiB)|(?:^|[ ])(us|ms|seconds|bytes))$/;

/** The unit that the name ends in, as in `limitMs`; null where the number is no time and no memory. */
export function unitOf(key: string): string | null {
  const found = UNIT.exec(key);
  const unit = found?.[1] ?? found?.[2];
  return unit === undefined ? null : unit.slice(0, 1).toUpperCase() + unit.slice(1);
}

/** `kept`: the last result of each name; only those from the same kind of machine are looked at. */
export function compare(results: readonly KeptResult[], kept: readonly KeptResult[]): Comparison {
  const changes: Change[] = [];
  const unknown: string[] = [];
  for (const { name, machine, raw, commit: commitNow } of results) {
    const before = kept.find((earlier) => earlier.name === name && earlier.machine === machine);
    if (before) changes.push(...changesIn(name, raw, before.raw, { commitBefore: before.commit, commitNow }));
    else unknown.push(name);
  }
  const sorted = changes.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return {
    regressions: sorted.filter(({ change }) => change > TOLERATED),
    improvements: sorted.filter(({ change }) => change < -TOLERATED),
    compared: changes.length,
    unknown,
  };
}

type Numbers = Readonly<Record<string, number>>;

function changesIn(
  name: string,
  now: Numbers,
  before: Numbers,
  commits: Pick<Change, 'commitBefore' | 'commitNow'>,
): Change[] {
  const changes: Change[] = [];
  for (const [key, found] of Object.entries(now)) {
    const unit = unitOf(key);
    const earlier = before[key];
    if (unit === null || earlier === undefined || key === `limit${unit}`) continue;
    const limits = { now: now[`limit${unit}`], before: before[`limit${unit}`] };
    const isRatio = isLimit(limits.now) && isLimit(limits.before);
    const a = isRatio ? earlier / limits.before! : earlier;
    const b = isRatio ? found / limits.now! : found;
    const isNoise = Math.abs(found - (isRatio ? a * limits.now! : a)) < NOISE[unit]!;
    // From nothing to something has no percentage, and is told all the same.
    const change = isNoise ? 0 : a === 0 ? Number.POSITIVE_INFINITY : (b - a) / a;
    changes.push({ name, key, before: a, now: b, isRatio, change, ...commits });
  }
  return changes;
}

const isLimit = (limit: number | undefined): boolean => limit !== undefined && limit > 0;

/** Lines for people; the first says what was compared. */
export function told({ regressions, improvements, compared, unknown }: Comparison): string[] {
  const percent = (change: number) =>
    Number.isFinite(change) ? `${change > 0 ? '+' : ''}${Math.round(change * 100)} %` : 'was 0';
  const line = (c: Change) => {
    const unit = c.isRatio ? ' times the limit' : '';
    const commits = `${c.commitBefore} → ${c.commitNow}`;
    return `    ${percent(c.change).padStart(7)}  ${c.name}: ${c.key} ${short(c.before)} → ${short(c.now)}${unit} (${commits})`;
  };
  const some = (what: string, changes: readonly Change[]) =>
    changes.length === 0 ? [] : [`  ${what} over ${TOLERATED * 100} %:`, ...changes.map(line)];
  return [
    `compared with the last kept results of such a machine: ${compared} numbers, ${regressions.length} worse and ${improvements.length} better by more than ${TOLERATED * 100} %`,
    ...some('worse', regressions),
    ...some('better', improvements),
    ...(unknown.length === 0 ? [] : [`  figures that were not kept before: ${unknown.length}`]),
  ];
}

const short = (value: number): string => Number(value.toPrecision(4)).toLocaleString('en-US');
