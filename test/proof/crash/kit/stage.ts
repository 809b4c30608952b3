/** A command and what comes of it when nothing disturbs it; and what a round is. */
import { type Contents, contentsOf, differences, type Extent } from './compare.ts';
import type { Ended } from './program.ts';
import { FIRST_NIGHT_MS, HOUR_MS, MINUTE_MS, type Scene } from './scene.ts';

/** `fixed`: after the command that was told. `harmless`: nobody noticed, and nobody needed to. */
export type Verdict = 'equal' | 'fixed' | 'harmless' | 'failed';

export interface Round {
  readonly verdict: Verdict;
  /** What happened; of a failure enough to understand it. */
  readonly note: string;
}

/** A way of disturbing the program. */
export interface Kind {
  readonly name: string;
  /** Rounds unless told. */
  readonly rounds: number;
  /** Why it cannot be tried on this machine; null where it can. */
  readonly skipped?: (stage: Stage) => Promise<string | null>;
  round(stage: Stage, seed: number): Promise<Round>;
}

/** A command that is disturbed. The same command again is what heals it. */
export interface Operation {
  readonly name: string;
  /** The state that it starts from. */
  readonly from: 'first' | 'second';
  readonly words: readonly string[];
  readonly atMs: number;
  readonly settings?: string;
  /** What must be the same after it was killed and given again; everything unless told. */
  readonly extent?: Extent;
}

export interface Undisturbed extends Readonly<Record<Extent, Contents>> {
  readonly code: number;
  readonly tookMs: number;
}

export const SECOND_NIGHT_MS = FIRST_NIGHT_MS + 25 * HOUR_MS;
const LATER_MS = SECOND_NIGHT_MS + 6 * HOUR_MS;
const OLD_DAYS = ['--from', '2026-03-06', '--to', '2026-03-11'];

export const NIGHT: Operation = { name: 'night', from: 'first', words: ['run'], atMs: SECOND_NIGHT_MS };

export const OPERATIONS: readonly Operation[] = [
  NIGHT,
  {
    name: 'backfill',
    from: 'first',
    words: ['backfill', 'promotions', 'orders', 'commissions', ...OLD_DAYS],
    atMs: LATER_MS,
  },
  { name: 'rebuild', from: 'second', words: ['rebuild'], atMs: LATER_MS, extent: 'remade' },
  { name: 'prune', from: 'second', words: ['prune'], atMs: LATER_MS + 96 * HOUR_MS, settings: 'pruning.yaml' },
  // Killed between two targets, the second one gets the masked slices by loading them, and its older receipts tell so.
  { name: 'erase', from: 'second', words: ['erase', '--yes'], atMs: LATER_MS, extent: 'fixed' },
];

export class Stage {
  readonly scene: Scene;
  private readonly known = new Map<string, Promise<Undisturbed>>();
  private second: Promise<void> | null = null;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  /** What comes of an operation; carried out the first time it is asked for. */
  undisturbed(operation: Operation): Promise<Undisturbed> {
    const known = this.known.get(operation.name) ?? this.carryOut(operation);
    this.known.set(operation.name, known);
    return known;
  }

  private async carryOut(operation: Operation): Promise<Undisturbed> {
    await this.begin(operation);
    const { code, tookMs } = await this.scene.must(this.wordsOf(operation), this.optionsOf(operation));
    const differing = await this.verified(operation.atMs);
    if (differing !== null) throw new Error(`undisturbed ${operation.name}: ${differing}`);
    const everything = await contentsOf(this.scene, 'everything');
    const remade = await contentsOf(this.scene, 'remade');
    const fixed = await contentsOf(this.scene, 'fixed');
    return { everything, remade, fixed, code: code ?? -1, tookMs };
  }

  /** What is the same after an operation and commands behind it as after a fix; carried out anew each time. */
  async afterwards(operation: Operation, commands: readonly (readonly string[])[]): Promise<Contents> {
    await this.begin(operation);
    await this.scene.must(this.wordsOf(operation), this.optionsOf(operation));
    for (const [i, words] of commands.entries())
      await this.scene.must(words, this.optionsOf(operation, (i + 1) * 10 * MINUTE_MS));
    return contentsOf(this.scene, 'fixed');
  }

  /** Puts the state back from which the operation starts. */
  async begin(operation: Operation): Promise<void> {
    if (operation.from === 'second') {
      this.second ??= this.makeSecond();
      await this.second;
    }
    await this.scene.putBack(operation.from);
  }

  private async makeSecond(): Promise<void> {
    await this.scene.putBack('first');
    await this.scene.must(NIGHT.words, { atMs: NIGHT.atMs });
    await this.scene.keep('second');
  }

  /** `erase` is of a sub-ID and an order that are in the second state. */
  wordsOf({ name, words }: Operation): readonly string[] {
    if (name !== 'erase') return words;
    const [row] = this.scene.sandbox.truth('orders', '2026-03-19' as never, '2026-03-19' as never);
    return [...words, '--sub-id', String(row?.subId), '--order-id', String(row?.orderId)];
  }

  optionsOf({ atMs, settings }: Operation, laterMs = 0) {
    const env = settings === undefined ? {} : { PARTNER_ETL_CONFIG: `${this.scene.folder}/${settings}` };
    return { atMs: atMs + laterMs, env };
  }

  /** The same command again, and whether all is as it would have been; null when it is. */
  async healed(operation: Operation, isProved: boolean): Promise<string | null> {
    const undisturbed = await this.undisturbed(operation);
    const again = await this.scene.run(this.wordsOf(operation), this.optionsOf(operation, 10 * MINUTE_MS));
    if (again.code !== undisturbed.code && again.code !== 0)
      return `the next run ended with ${again.code ?? again.signal}: ${lastLines(again.stderr)}`;
    const { extent = 'everything' } = operation;
    const differing = differences(undisturbed[extent], await contentsOf(this.scene, extent));
    if (differing.length > 0) return differing.slice(0, 12).join('\n');
    return isProved ? this.verified(operation.atMs + 20 * MINUTE_MS) : null;
  }

  /** What `verify` finds; null when that is nothing. */
  async verified(atMs: number): Promise<string | null> {
    const end = await this.scene.run(['verify', '--json'], { atMs });
    if (end.code === 0) return null;
    return `verify ended with ${end.code ?? end.signal}: ${end.stdout.slice(0, 2000)}${lastLines(end.stderr)}`;
  }
}

/** What is wrong with the way in which a failure was told; null when it is told well. */
export function badlyTold({ code, signal, stderr }: Ended): string | null {
  if (signal !== null) return `it was ended by ${signal}`;
  if (code === 0 || code === 3) return null;
  const said = stderr.split('\n').filter((line) => !line.startsWith('{'));
  if (said.some((line) => /^\s+at .+:\d+:\d+\)?$/.test(line))) return 'it shows a stack';
  if (said.some((line) => line.includes('please report this'))) return 'it calls itself a bug';
  if (!said.some((line) => line.startsWith('partner-etl: '))) return 'it does not say what failed';
  if (!said.some((line) => line.startsWith('  fix: '))) return 'it does not say how to fix it';
  return null;
}

export function lastLines(text: string): string {
  const said = text.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":"info"'));
  return said.slice(-8).join('\n');
}
