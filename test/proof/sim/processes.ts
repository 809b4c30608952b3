/** The processes in which the program runs: warm ones are used again, and one is started ahead of the next death. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Plugin } from 'rolldown';
import { bundleOf } from '../../support/bundle.ts';
import type { Mutant } from './mutant-list.ts';
import { mutated } from './mutate.ts';
import type { Order, Reply } from './orders.ts';

/** What became of an order: an answer, or the signal or code that the process ended with. */
export type Outcome = Extract<Reply, { kind: 'done' }> | { readonly kind: 'died'; readonly how: string };

/** Longer than any order, also where ten others want the processor: whoever takes it hangs. */
const HANG_MS = 600_000;

const CHILD = path.join(import.meta.dirname, 'child.js');
const bundles = new Map<string, Promise<string>>();

/** Starting is half of what a death costs. Nothing of a mutant is on the disk but its bundle. */
function bundled(mutant: Mutant | null): Promise<string> {
  const name = mutant === null ? 'bundled' : `bundled-${mutant.name}`;
  const bundle =
    bundles.get(name) ?? bundleOf(CHILD, path.join(import.meta.dirname, name), mutant ? turnsInto(mutant) : undefined);
  bundles.set(name, bundle);
  return bundle;
}

function turnsInto(mutant: Mutant): Plugin {
  const file = `/${mutant.file.replace(/\.ts$/, '.js')}`;
  return {
    name: mutant.name,
    transform: (code, id) => (id.endsWith(file) ? mutated(mutant, code, id) : null),
  };
}

export class Processes {
  private readonly spare: Promise<ChildProcess>[] = [];
  private readonly all = new Set<ChildProcess>();
  private readonly mutant: Mutant | null;

  /** `mutant`: what the program is run as. */
  constructor(mutant: Mutant | null) {
    this.mutant = mutant;
  }

  async take(): Promise<ChildProcess> {
    for (;;) {
      const child = await (this.spare.shift() ?? this.start());
      if (child.connected) return child;
    }
  }

  /** Takes it back for the next order. */
  give(child: ChildProcess): void {
    if (child.connected) this.spare.unshift(Promise.resolve(child));
  }

  /** Starts one for later, where none waits. */
  prepare(): void {
    if (this.spare.length === 0) this.spare.push(this.start());
  }

  /** Carries an order out; the process is taken back unless it died. */
  async order(order: Order): Promise<Outcome> {
    const child = await this.take();
    if (order.aim !== null) this.prepare();
    const outcome = await this.carryOut(child, order);
    if (outcome.kind === 'done') this.give(child);
    return outcome;
  }

  carryOut(child: ChildProcess, order: Order, onReceiving: (url: string) => void = () => undefined): Promise<Outcome> {
    return new Promise((resolve) => {
      const end = (outcome: Outcome) => {
        clearTimeout(timer);
        child.off('message', heard);
        child.off('exit', gone);
        resolve(outcome);
      };
      const heard = (reply: Reply) => {
        if (reply.kind === 'done') end(reply);
        if (reply.kind === 'receiving') onReceiving(reply.url);
      };
      const gone = (code: number | null, signal: string | null) =>
        end({ kind: 'died', how: signal ?? `exit code ${code}` });
      const timer = setTimeout(() => {
        child.off('exit', gone);
        child.kill('SIGKILL');
        end({ kind: 'died', how: `nothing happened for ${HANG_MS} ms` });
      }, HANG_MS);
      child.on('message', heard);
      child.once('exit', gone);
      child.send(order, (error) => error && gone(null, 'lost'));
    });
  }

  async close(): Promise<void> {
    for (const child of this.all) child.kill('SIGKILL');
    await Promise.allSettled(this.spare);
  }

  private async start(): Promise<ChildProcess> {
    const child = fork(await bundled(this.mutant), [], {
      env: { PATH: process.env.PATH },
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // In a group of its own: Ctrl-C is for the simulation, which lets what is under way end. It ends with the channel to here.
      detached: true,
    });
    this.all.add(child);
    child.once('exit', () => this.all.delete(child));
    const ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`a process of the program ended with ${signal ?? code} before it could be used`);
    });
    ended.catch(() => undefined);
    await Promise.race([once(child, 'message'), ended]);
    return child;
  }
}
