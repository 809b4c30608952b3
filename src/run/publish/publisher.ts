/**
 * Brings the targets up to the lake for one run: at its end, and once before where what is left takes long.
 *
 * Why twice: the first night asks for thousands of products, which takes minutes, while the reports are in the lake after seconds.
 * Whole pipelines only are published early, each with its parts, and through the same checks; the run's record stays
 * open until the end, so whatever comes in between is recorded by the last publication, or after a crash by the next run.
 */
import type { Pipeline } from '../../core/pipeline.ts';
import { childrenOf } from '../../core/pipeline.ts';
import type { DriftRecord } from '../../core/records.ts';
import { spanning } from '../../core/tracer.ts';
import { brokenText, type Check, fixOn } from '../../warehouse/checks/checks.ts';
import { driftField, driftKind } from '../../warehouse/checks/drift.ts';
import type { CheckWarning, PublishResult, Target } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';
import type { RunLedger } from '../ledger.ts';
import { type Ending, type Published, publishTo } from './publish.ts';

export interface PublisherOptions {
  readonly context: RunContext;
  readonly ledger: RunLedger;
  /** With what the slices must stand in each. */
  readonly targets: ReadonlyMap<Target, readonly Check[]>;
  readonly afresh: boolean;
}

export class Publisher {
  private readonly options: PublisherOptions;
  /** What was published before the end, by target. */
  private readonly early = new Map<string, PublishResult>();
  /** What of checks was logged, so that it is said once however many targets say so. */
  private readonly reported = new Set<string>();
  private wasEarly = false;

  constructor(options: PublisherOptions) {
    this.options = options;
  }

  /** Whether it may still publish before the end: once is enough. */
  get mayBeEarly(): boolean {
    return !this.wasEarly && !this.options.afresh && this.options.targets.size > 0;
  }

  /** Publishes what the lake holds of these pipelines, which are done. What fails is tried again, and reported, at the end. */
  async publishEarly(pipelines: readonly Pipeline[]): Promise<void> {
    const { context, ledger, targets } = this.options;
    this.wasEarly = true;
    const whole = pipelines.flatMap((one) => [one, ...childrenOf(context.pipelines, one)]);
    for (const target of targets.keys()) {
      const { result, holds, errors } = await this.publish(target, () => ledger.record, whole);
      if (result) this.early.set(target.name, result);
      this.tellChecks(target, result, holds);
      for (const { message, code } of errors)
        context.log.info(`${target.name}: ${message}; tried again later`, { code });
    }
    await context.step('published-early', ledger.runId);
  }

  /** Publishes everything; what was published early is reported with it. */
  async publishAll(ending: Ending, onErrors: (errors: Published['errors']) => void): Promise<Published[]> {
    const published: Published[] = [];
    for (const target of this.options.targets.keys()) {
      const last = await this.publish(target, ending, null);
      onErrors(last.errors); // the record that the next target gets tells of them
      this.tellChecks(target, last.result, last.holds);
      published.push({ ...last, result: together(this.early.get(target.name) ?? null, last.result) });
    }
    return published;
  }

  private publish(target: Target, ending: Ending, only: readonly Pipeline[] | null): Promise<Published> {
    const { context, ledger, targets, afresh } = this.options;
    const what = { checks: targets.get(target) ?? [], drift: ledger.drift, afresh, only };
    return spanning(context.tracer, 'publish', { target: target.name }, async (span) => {
      const published = await publishTo(context, target, ending, what);
      span.set({ slices: published.result?.slices ?? 0, rows: published.result?.rows ?? 0 });
      span.fail(published.errors[0]);
      return published;
    });
  }

  /** Logs what broke checks; what was published in spite of one is drift of the answer that brought it. */
  private tellChecks({ name: target }: Target, result: PublishResult | null, holds: Published['holds']): void {
    const { context, ledger } = this.options;
    for (const { pipeline, slice_day: day, digest, detail, fix } of holds)
      if (this.isNew([pipeline, day, digest]))
        context.log.warn(`${pipeline} ${day} is held: ${detail}`, {
          code: 'check',
          fix,
          target,
          pipeline,
          slice: day,
        });
    for (const warning of result?.warnings ?? []) {
      const { check, field, rows, pipeline, day, fetch_id } = warning;
      if (!this.isNew([check, field, rows, pipeline, day])) continue;
      const fix = fixOn(warning.fix, day);
      context.log.warn(`${pipeline} ${day ?? ''}: ${brokenText(warning)}`, {
        code: 'check',
        fix,
        target,
        pipeline,
        slice: day,
        request: fetch_id,
      });
      addDrift(ledger.drift, warning);
    }
  }

  /** `about`: what was found, without its example, which each engine writes in its own way: 1 or 1.000000. */
  private isNew(about: readonly (string | number | null)[]): boolean {
    const name = JSON.stringify(about);
    if (this.reported.has(name)) return false;
    this.reported.add(name);
    return true;
  }
}

/** One record for a fetch that brought several such days. */
function addDrift(drift: DriftRecord[], warning: CheckWarning): void {
  const { pipeline, day, fetch_id, rows, example, fix } = warning;
  const [kind, field] = [driftKind(warning), driftField(warning)];
  const at = drift.findIndex(
    (d) => d.kind === kind && d.field === field && d.fetch_id === fetch_id && d.pipeline === pipeline,
  );
  const { count, check } = drift[at] ?? { count: 0, check: undefined };
  const days = [...new Set([...(check?.days ?? []), ...(day === null ? [] : [day])])].sort();
  const record = { pipeline, fetch_id, kind, field, count: count + rows, example, check: { days, fix } };
  if (at < 0) drift.push(record);
  else drift[at] = record;
}

function together(early: PublishResult | null, last: PublishResult | null): PublishResult | null {
  if (!early || !last) return early ?? last;
  return {
    slices: early.slices + last.slices,
    rows: early.rows + last.rows,
    tookMs: early.tookMs + last.tookMs,
    copyMs: early.copyMs + last.copyMs,
    warnings: [...early.warnings, ...last.warnings],
  };
}
