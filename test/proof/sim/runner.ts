/** Runs seeds, several at once, and says how they went. */
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { openPlace, type PlaceOptions } from './place.ts';
import { Processes } from './processes.ts';
import { scenarioOf } from './scenario.ts';
import { type Result, Simulation } from './simulate.ts';
import { makeTemplate } from './template.ts';

export interface Seeds {
  readonly first: number;
  readonly count: number;
  readonly workers: number;
  readonly postgres: boolean;
  /** All of them load into Postgres, and have their state there. */
  readonly hosts: boolean;
  readonly isBrief: boolean;
  readonly isVerbose: boolean;
  readonly signal: AbortSignal;
}

/** Of the seeds that are run with `--postgres`. */
const loadsPostgres = (seed: number) => seed % 3 === 0;
const TELL_MS = 10_000;

export async function runSeed(
  seed: number,
  processes: Processes,
  options: PlaceOptions,
  isBrief = false,
): Promise<Result> {
  const scenario = scenarioOf(seed, isBrief);
  const place = await openPlace(scenario, options);
  try {
    return await new Simulation(scenario, place, processes).run();
  } finally {
    await place.close();
  }
}

/** Whether all went well. */
export async function runSeeds(asked: Seeds): Promise<boolean> {
  const { first, count, workers, postgres, hosts, isBrief, isVerbose, signal } = asked;
  const server: Postgres | null = postgres || hosts ? await startPostgres() : null;
  const template = await makeTemplate();
  const tally = new Tally();
  let next = first;
  const work = async () => {
    const processes = new Processes(null);
    try {
      while (next < first + count && !signal.aborted) {
        const seed = next++;
        const serverUrl = hosts || loadsPostgres(seed) ? (server?.url ?? null) : null;
        const place = { serverUrl, isOfHosts: hosts, template: template.file };
        const result = await runSeed(seed, processes, place, isBrief);
        tally.add(result);
        if (isVerbose || result.flaws.length > 0) tellResult(result, asked);
      }
    } finally {
      await processes.close();
    }
  };
  const timer = setInterval(() => process.stdout.write(`${tally.line()}\n`), TELL_MS);
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    clearInterval(timer);
    await server?.stop();
    await template.remove();
  }
  process.stdout.write(`${tally.line()}\n${tally.kinds()}\n`);
  return tally.failed === 0;
}

function tellResult({ seed, journal, flaws }: Result, { postgres, hosts, isBrief }: Seeds): void {
  const replay = `npm run sim -- ${seed}${isBrief ? ' --brief' : ''}${postgres ? ' --postgres' : ''}${hosts ? ' --hosts' : ''}`;
  const lines = [`seed ${seed}`, ...journal.map((line) => `  ${line}`)];
  if (flaws.length > 0) lines.push(...flaws.map((flaw) => `  WRONG ${flaw}`), `  again: ${replay}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

class Tally {
  private readonly beganMs = performance.now();
  private seeds = 0;
  private nights = 0;
  failed = 0;
  private readonly counts = new Map<string, number>();

  add({ nights, kinds, flaws }: Result): void {
    this.seeds += 1;
    this.nights += nights;
    if (flaws.length > 0) this.failed += 1;
    for (const [kind, n] of kinds) this.counts.set(kind, (this.counts.get(kind) ?? 0) + n);
  }

  line(): string {
    const seconds = (performance.now() - this.beganMs) / 1000;
    const rate = (this.nights / seconds).toFixed(1);
    return `${this.seeds} seeds, ${this.nights} nights in ${seconds.toFixed(0)} s (${rate} nights a second), ${this.failed} wrong`;
  }

  kinds(): string {
    return [...this.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, n]) => `  ${String(n).padStart(6)} ${kind}`)
      .join('\n');
  }
}
