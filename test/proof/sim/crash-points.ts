/**
 * Where the program may die: before or after every step of a run, file operation, statement, request, and at every await. They
 * are counted from outside, by wrapping what the program is given by Node, DuckDB and pg; it knows nothing of it. Whoever
 * is aimed at kills the process with SIGKILL, then and there.
 *
 * Steps, file operations and statements come in an order that follows from the seed almost always; requests and awaits hang on how
 * the network cuts its data, so the n-th of them may be another one the next time.
 */
import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';

export const POINT_KINDS = ['step', 'file', 'statement', 'request', 'await'] as const;
export type PointKind = (typeof POINT_KINDS)[number];

export interface Aim {
  readonly kind: PointKind;
  /** From 1. */
  readonly at: number;
}

export class CrashPoints {
  private aim: Aim | null = null;
  private report: number | null = null;
  private counts: Record<PointKind, number> = { step: 0, file: 0, statement: 0, request: 0, await: 0 };
  private readonly hook = createHook({
    init: (_id, type) => void (type === 'PROMISE' && this.pass('await', 'a promise')),
  });

  /** From now on; null: nothing is aimed at. `report` is the descriptor that is told what the process died at. */
  arm(aim: Aim | null, report: number | null): void {
    this.aim = aim;
    this.report = report;
    this.counts = { step: 0, file: 0, statement: 0, request: 0, await: 0 };
    if (aim?.kind === 'await') this.hook.enable();
    else this.hook.disable();
  }

  /** How many of each have passed since. */
  get passed(): Readonly<Record<PointKind, number>> {
    return this.counts;
  }

  pass(kind: PointKind, what: string): void {
    this.counts[kind] += 1;
    if (this.aim === null || this.aim.kind !== kind || this.aim.at !== this.counts[kind]) return;
    if (this.report !== null) writeSync(this.report, `${JSON.stringify({ op: 'died', what })}\n`);
    process.kill(process.pid, 'SIGKILL');
  }

  /** Counts what the engines are told, and what goes to the service and comes from it. */
  watchEngines(): void {
    // All other ways of asking go through `run`.
    for (const name of ['run', 'stream']) this.watch(DuckDBConnection.prototype, name);
    // One thread each: the data is small, and several processes run at once.
    const create = DuckDBInstance.create.bind(DuckDBInstance);
    DuckDBInstance.create = (file, options) => create(file, { threads: '1', ...options });
    this.watch(pg.Client.prototype, 'query');
    for (const channel of ['undici:client:sendHeaders', 'undici:request:headers', 'undici:request:trailers'])
      subscribe(channel, () => this.pass('request', channel));
  }

  private watch(owner: object, name: string): void {
    const methods = owner as Record<string, (...args: unknown[]) => unknown>;
    const original = methods[name]!;
    const points = this;
    methods[name] = function (this: unknown, ...args: unknown[]) {
      const what = typeof args[0] === 'string' ? args[0].trim().slice(0, 60) : name;
      points.pass('statement', `before ${what}`);
      const result = original.apply(this, args);
      if (!(result instanceof Promise)) return result;
      return result.finally(() => points.pass('statement', `after ${what}`));
    };
  }
}
