/** Rounds of the kinds of disturbance, and the table of what came of them. */
import type { Kind, Round, Stage, Verdict } from './stage.ts';

export interface Tally {
  readonly kind: string;
  readonly counts: Readonly<Record<Verdict, number>>;
  /** Of each failure what happened and how to see it again. */
  readonly failures: readonly string[];
  /** What nobody noticed. */
  readonly harmless: readonly string[];
  readonly skipped: string | null;
}

export interface RoundOptions {
  /** Of the first round; each has the next one. */
  readonly seed: number;
  /** As many of each kind; each kind's own number when absent. */
  readonly rounds?: number;
  readonly tell?: (line: string) => void;
  /** Asked before each round. */
  readonly isStopped?: () => boolean;
}

/** Rounds of one kind. Whatever a round throws is a failure of it. */
export async function roundsOf(stage: Stage, kind: Kind, options: RoundOptions): Promise<Tally> {
  const { seed, rounds = kind.rounds, tell = () => undefined, isStopped = () => false } = options;
  const counts = { equal: 0, fixed: 0, harmless: 0, failed: 0 };
  const [failures, harmless]: [string[], string[]] = [[], []];
  const skipped = (await kind.skipped?.(stage)) ?? null;
  for (let i = 0; i < rounds && skipped === null && !isStopped(); i++) {
    const { verdict, note } = await carriedOut(stage, kind, seed + i);
    counts[verdict] += 1;
    tell(`${kind.name} ${seed + i}: ${verdict}: ${note}`);
    const again = `npm run crash -- --only ${kind.name} --seed ${seed + i} --rounds 1`;
    if (verdict === 'failed') failures.push(`${note}\nsee it again: ${again}`);
    if (verdict === 'harmless') harmless.push(note);
  }
  return { kind: kind.name, counts, failures, harmless, skipped };
}

async function carriedOut(stage: Stage, kind: Kind, seed: number): Promise<Round> {
  try {
    return await kind.round(stage, seed);
  } catch (error) {
    return { verdict: 'failed', note: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

const TITLES = ['kind', 'rounds', 'equal at once', 'fixed by command', 'unnoticed and harmless', 'failures'];

/** The table, and below it what was skipped, what nobody noticed, and every failure. */
export function report(tallies: readonly Tally[]): string {
  const rows = tallies.map(({ kind, counts: { equal, fixed, harmless, failed } }) =>
    [kind, equal + fixed + harmless + failed, equal, fixed, harmless, failed].map(String),
  );
  const sums = [1, 2, 3, 4, 5].map((i) => String(rows.reduce((sum, row) => sum + Number(row[i]), 0)));
  const lines = [TITLES, ...rows, ['all', ...sums]];
  const widths = TITLES.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  const table = lines.map((line) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  const more = tallies.flatMap(({ kind, skipped, harmless, failures }) => [
    ...(skipped === null ? [] : [`${kind} was skipped: ${skipped}`]),
    ...harmless.map((note) => `${kind}, unnoticed and harmless: ${note}`),
    ...failures.map((note) => `${kind} FAILED: ${note}`),
  ]);
  return [...table, '', ...more].join('\n');
}
