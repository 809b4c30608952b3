/**
 * What part of a short budget this process may use, beside the other processes of the installation. Counting every call in a
 * common file, as for long budgets (shared-pace.ts), would cost more than the call: here the processes share the budget out.
 *
 * Whoever wants calls takes part: he has a small file in the endpoint's folder, which says how many calls in any window he
 * claims, and whose modification time is the last sign of life. Everybody looks into the folder twice a second while he makes
 * calls, and the aim of each is an equal part of the budget.
 *   - A claim is raised in two steps: it is written, then all others are read, and only when all of them together are within
 *     the budget it is used; else it is taken back. Of two who raise at once the one who wrote later sees the other. So the
 *     claims in use never add up to more than the budget, without a lock. A claim is raised as calls need it, not beforehand.
 *   - Whoever has more than his part keeps to his part at once. He lowers his claim when no more calls than that still count
 *     in the service's window; before that nobody else may use what he gives away. So a newcomer waits for a second or two.
 *   - Whoever has not shown himself for LAPSE_MS makes no call on his old claim: he begins again like a newcomer, when his calls
 *     have left the window. Whoever has not
 *     been seen for so long that his last calls have left the service's window as well is dead, and his claim is free.
 * So no file has to be removed by the one who ends, and a kill leaves nothing that matters.
 *
 * A process alone has the whole budget, for a look at a folder with one file twice a second.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import type { HomePaths } from '../core/home.ts';
import { readIfThere } from '../disk/atomic.ts';
import type { EndpointBudget } from './settings.ts';

/** How often a process that makes calls looks and shows itself. */
export const LOOK_MS = 500;
/** A claim whose holder has not shown himself for so long is not used by him any more. */
const LAPSE_MS = 1_500;
/** From the turn that a claim allows until the call has arrived. */
const ARRIVAL_MS = 1_000;
/** By so many times a claim rises that is used up: a look-up by hand takes little from those who come after it. */
const CLAIM_RISE = 8;
/** Files of the dead are removed after this. */
const BURIED_AFTER_MS = 600_000;
/** Where more processes take part than there are calls, a call wanders from one to the next as often as this. */
const ROTATION_MS = 5_000;

const claimShape = z.object({ version: z.literal(1), pid: z.number(), claim: z.number() });

interface Other {
  readonly name: string;
  readonly claim: number;
}

export class BudgetShare {
  private readonly clock: Clock;
  private readonly folder: string;
  private readonly name: string;
  /** What we may use. Our file says so much or more, and never less than what counts in the service's window. */
  private claim = 0;
  /** Our equal part, as of the last look. */
  private part = 0;
  private shownMs = Number.NEGATIVE_INFINITY;
  /** When the others last left too little to raise the claim: there is no use in asking before the next look. */
  private hinderedMs = Number.NEGATIVE_INFINITY;

  constructor(endpoint: string, home: HomePaths, clock: Clock) {
    this.clock = clock;
    this.folder = path.join(home.state, `share-${endpoint}`);
    this.name = `${process.pid}-${randomBytes(4).toString('hex')}.json`;
  }

  /** Calls that may count in any window now; none where the last look took so long that the claim has lapsed over it. */
  calls(): number {
    return this.isLapsed(this.clock.now()) ? 0 : Math.min(this.claim, this.part);
  }

  /** Milliseconds until `look` is due, 0 for now. `counted` calls count already: where they fill the claim it may be raised. */
  dueMs(counted: number): number {
    const nowMs = this.clock.now();
    const isShort = counted >= this.claim && this.claim < this.part;
    const lastMs = isShort && this.hinderedMs < this.shownMs ? Number.NEGATIVE_INFINITY : this.shownMs;
    return nowMs < this.shownMs ? 0 : Math.max(0, lastMs + LOOK_MS - nowMs);
  }

  /**
   * Shows that we live, looks who else does, and brings the claim nearer to our part. `counted` calls still count in the
   * service's window, `waiting` more want to be made. Errors: those of the file system.
   */
  async look(budget: EndpointBudget, counted: number, waiting: number): Promise<void> {
    const nowMs = this.clock.now();
    if (this.isLapsed(nowMs) || !(await this.show(nowMs))) {
      this.claim = 0;
      await this.write(counted);
    }
    const others = await this.others(budget);
    this.part = this.partBeside(others, budget.calls);
    if (this.part < this.claim && counted <= this.part) {
      this.claim = this.part;
      await this.write(this.claim);
    }
    if (counted + waiting <= this.claim || this.part <= this.claim) return;
    const wanted = Math.max(counted + waiting, CLAIM_RISE * this.claim);
    const claim = Math.min(this.part, budget.calls - sumOf(others), wanted);
    const isFree = claim > this.claim && claim >= counted;
    if (!isFree || !(await this.raise(budget, claim, counted))) this.hinderedMs = this.clock.now();
  }

  private async raise(budget: EndpointBudget, claim: number, counted: number): Promise<boolean> {
    await this.write(claim);
    const fits = sumOf(await this.others(budget)) + claim <= budget.calls;
    if (fits) this.claim = claim;
    else await this.write(Math.max(this.claim, counted));
    return fits;
  }

  private isLapsed(nowMs: number): boolean {
    return nowMs - this.shownMs >= LAPSE_MS || nowMs < this.shownMs;
  }

  /** Equal parts; what is left over goes to the first ones in order of their names. */
  private partBeside(others: readonly Other[], calls: number): number {
    const count = others.length + 1;
    const before = others.filter(({ name }) => name < this.name).length;
    const turned = calls < count ? before + Math.floor(this.clock.now() / ROTATION_MS) : before;
    return Math.floor(calls / count) + (turned % count < calls % count ? 1 : 0);
  }

  private async others({ calls, perSeconds }: EndpointBudget): Promise<Other[]> {
    const deadMs = LAPSE_MS + ARRIVAL_MS + perSeconds * 1000;
    const found: Other[] = [];
    for (const name of await readdir(this.folder)) {
      if (name.startsWith(this.name)) continue;
      const file = path.join(this.folder, name);
      const about = await stat(file).catch(() => null); // it was buried just now
      if (about === null) continue;
      // Either way: after the clock was set back, the dead would be young for ever.
      const unseenMs = Math.abs(this.clock.now() - about.mtimeMs);
      const isClaim = name.endsWith('.json'); // the rest was not put into place, by somebody who was killed over it
      if (unseenMs < deadMs && isClaim) found.push({ name, claim: claimIn(await readIfThere(file)) ?? calls });
      else if (unseenMs > BURIED_AFTER_MS + deadMs) await rm(file, { force: true });
    }
    return found;
  }

  /** False where somebody has buried us. */
  private async show(nowMs: number): Promise<boolean> {
    try {
      await utimes(path.join(this.folder, this.name), nowMs / 1000, nowMs / 1000);
      this.shownMs = nowMs;
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  /** Claim and sign of life change together. Not synced: after a power cut nobody is left whose claim would matter. */
  private async write(claim: number): Promise<void> {
    const file = path.join(this.folder, this.name);
    const nowMs = this.clock.now();
    await mkdir(this.folder, { recursive: true });
    await writeFile(`${file}.tmp`, JSON.stringify({ version: 1, pid: process.pid, claim }));
    await utimes(`${file}.tmp`, nowMs / 1000, nowMs / 1000);
    await rename(`${file}.tmp`, file);
    this.shownMs = nowMs;
  }
}

function sumOf(others: readonly Other[]): number {
  return others.reduce((sum, { claim }) => sum + claim, 0);
}

/** null where the text is no claim: then it counts as the whole budget until its file is dead. */
function claimIn(text: string | null): number | null {
  try {
    return text === null ? 0 : claimShape.parse(JSON.parse(text)).claim;
  } catch {
    return null;
  }
}
