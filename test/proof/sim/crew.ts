/** The processes of one simulation at work: orders for them, and the receiver of push messages beside them. */
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import type { Writer } from './clock.ts';
import type { Aim } from './crash-points.ts';
import type { Ended, Order, Work } from './orders.ts';
import { type Place, WEBHOOK } from './place.ts';
import type { Outcome, Processes } from './processes.ts';

/** Where package.json, sql/ and config/ lie: this file is two folders deep in a folder of what was compiled. */
export const packageRoot = path.resolve(import.meta.dirname, '..', '..', '..', '..');

export interface Receiving {
  /** It takes messages, or has died. */
  readonly isUp: Promise<void>;
  /** In good order, or with the power. */
  stop(powerIsCut: boolean): Promise<Outcome>;
}

export class Crew {
  private readonly seed: number;
  private readonly place: Place;
  private readonly processes: Processes;
  /** Orders given so far. */
  given = 0;
  nights = 0;
  /** Lock files that processes still hold after their work. */
  readonly locksLeft: string[] = [];
  /** Calls that were sent with a token that had expired by then. */
  expiredTokens = 0;

  constructor(seed: number, place: Place, processes: Processes) {
    this.seed = seed;
    this.place = place;
    this.processes = processes;
  }

  /** Carries work out, all of it at the same time in one process. `isNoted`: a power cut may follow. */
  async order(work: readonly Work[], aim: Aim | null, writer: Writer, isNoted = true): Promise<Outcome> {
    return this.told(await this.processes.order(this.orderOf(work, aim, writer, isNoted)));
  }

  private told(outcome: Outcome): Outcome {
    if (outcome.kind === 'died') return outcome;
    this.locksLeft.push(...outcome.locksLeft);
    this.expiredTokens += outcome.expiredTokens;
    return outcome;
  }

  /** Starts a receiver in a process of its own. */
  receive(aim: Aim | null): Receiving {
    let up: () => void = () => undefined;
    const isUp = new Promise<void>((resolve) => {
      up = resolve;
    });
    const taken = this.processes.take();
    const over = taken.then((child) => this.receiveIn(child, aim, up));
    const stop = async (powerIsCut: boolean) => {
      const child = await taken;
      if (powerIsCut) child.kill('SIGKILL');
      else if (child.connected) child.send('stop', () => undefined);
      return over;
    };
    return { isUp, stop };
  }

  private async receiveIn(child: ChildProcess, aim: Aim | null, up: () => void): Promise<Outcome> {
    const order = this.orderOf([{ kind: 'receive' }], aim, 'r', true);
    const outcome = await this.processes.carryOut(child, order, (url) => {
      this.place.sandbox.addPushRoute({ from: WEBHOOK, to: url });
      up();
    });
    up();
    if (outcome.kind === 'done') this.processes.give(child);
    return this.told(outcome);
  }

  private orderOf(work: readonly Work[], aim: Aim | null, writer: Writer, isNoted: boolean): Order {
    this.given += 1;
    this.nights += work.filter(({ kind }) => kind === 'night' || kind === 'backfill').length;
    const { env, clockFile, notes, attic } = this.place;
    const kept = isNoted ? { file: notes, attic } : null;
    const part = `${writer}${this.given}`;
    return { work, env, packageRoot, clockFile, writer, seed: this.seed, part, aim, notes: kept };
  }
}

/** What a process would have answered, had it lived. */
export function died(work: readonly Work[]): Ended[] {
  return work.map(({ kind }) => ({ kind, exitCode: 137, codes: ['died'], messages: [], isBug: false }));
}
