/** What a process of the program is told to do, and what it answers. Plain JSON. */
import type { Writer } from './clock.ts';
import type { Aim, PointKind } from './crash-points.ts';

export type Work =
  | { readonly kind: 'night'; readonly names: readonly string[] }
  | {
      readonly kind: 'backfill';
      readonly names: readonly string[];
      readonly from: string;
      readonly to: string;
      readonly refetch: boolean;
    }
  | { readonly kind: 'release'; readonly name: string; readonly day: string }
  | { readonly kind: 'verify' }
  /** Takes push messages until it is told to stop. */
  | { readonly kind: 'receive' };

export interface Order {
  /** Done at the same time. */
  readonly work: readonly Work[];
  /** Of the program, as its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly packageRoot: string;
  readonly clockFile: string;
  /** Whose time this process tells. */
  readonly writer: Writer;
  /** Random numbers of the program, and how long its steps take. */
  readonly seed: number;
  readonly part: string;
  readonly aim: Aim | null;
  /** Where changes of files are noted; null: nowhere. */
  readonly notes: { readonly file: string; readonly attic: string } | null;
}

/** How one piece of work ended. */
export interface Ended {
  readonly kind: Work['kind'];
  /** As a process would have exited with. */
  readonly exitCode: number;
  readonly codes: readonly string[];
  /** Some error is a mistake of the program's own. */
  readonly isBug: boolean;
  /** Of errors, and of what `verify` found. */
  readonly messages: readonly string[];
}

export type Reply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'receiving'; readonly url: string }
  | {
      readonly kind: 'done';
      readonly ended: readonly Ended[];
      readonly passed: Readonly<Record<PointKind, number>>;
      /** Lock files that are still open, though the work has ended. */
      readonly locksLeft: readonly string[];
      /** Calls that were sent with a token that had expired by then. */
      readonly expiredTokens: number;
    };
