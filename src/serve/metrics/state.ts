/** How things stand: freshness, slices by state, what is due, the inbox. Gauges; each reading takes the place of the one before. */
import type { Day } from '../../core/days.ts';
import { Lake } from '../../lake/lake.ts';
import type { RunContext } from '../../run/context.ts';
import { pipelineStatuses } from '../../run/status/status.ts';
import type { PipelineStatus } from '../../run/status/status-days.ts';
import { inboxSize } from '../../store/tables/inbox.ts';
import { runsStamp } from '../../store/tables/runs.ts';
import { countCommits } from '../../store/tables/slices.ts';
import { Remembered } from '../page/sources/remembered.ts';
import type { Schedules } from '../schedule/due.ts';
import { scheduleOf } from '../schedule/schedule.ts';
import { scheduleStatus } from '../schedule/status.ts';
import type { Meters } from './meters.ts';

const FRESH_MS = 5_000;
/** Prometheus gives a scrape ten seconds. */
const PATIENCE_MS = 3_000;
/** Even where no trace of a change is seen. */
const LONGEST_KEPT_MS = 600_000;

/** Reading how pipelines stand takes a part of a second, and they change once a night. */
interface Kept {
  readonly stamp: string;
  readonly readMs: number;
  readonly statuses: readonly PipelineStatus[];
}

export class StateGauges {
  private readonly context: RunContext;
  private readonly meters: Meters;
  private readonly lake: Lake;
  private readonly statuses: Remembered<readonly PipelineStatus[]>;
  private kept: Kept | null = null;
  private readonly dayEnds = new Map<Day, number>();

  /** `today`: asked each time, since `serve` lives longer than a day. */
  constructor(context: RunContext, today: () => Day, meters: Meters) {
    this.context = context;
    this.meters = meters;
    this.lake = new Lake({ root: context.paths.root, state: context.state, pipelines: context.pipelines });
    const make = () => this.statusesOn(today());
    this.statuses = new Remembered({ make, clock: context.clock, freshMs: FRESH_MS, patienceMs: PATIENCE_MS });
  }

  private async statusesOn(today: Day): Promise<readonly PipelineStatus[]> {
    const { context, kept } = this;
    const readMs = context.clock.now();
    const { db } = context.state;
    const stamp = `${today}\n${await runsStamp(db)}\n${await countCommits(db)}`;
    if (kept && kept.stamp === stamp && readMs - kept.readMs < LONGEST_KEPT_MS) return kept.statuses;
    this.lake.reread();
    const statuses = await pipelineStatuses({ ...context, lake: this.lake, today });
    this.kept = { stamp, readMs, statuses };
    return statuses;
  }

  async readPipelines(): Promise<void> {
    const { meters } = this;
    const statuses = await this.statuses.read();
    for (const one of statuses) {
      const { pipeline, counts, rows, rejects } = one;
      for (const [state, days] of Object.entries(counts)) meters.slices.set({ pipeline, state }, days);
      meters.held.set({ pipeline }, counts.held);
      meters.rejected.set({ pipeline }, rejects);
      meters.loaded.set({ pipeline }, rows);
      const freshFromMs = one.enabled ? this.freshFromMs(one) : null;
      if (freshFromMs === null) meters.freshness.remove({ pipeline });
      else meters.freshness.set({ pipeline }, Math.max(0, this.context.clock.now() - freshFromMs) / 1000);
    }
  }

  async readInbox(): Promise<void> {
    const { bytes, messages } = await inboxSize(this.context.state.db);
    this.meters.inboxBytes.set(bytes);
    this.meters.inboxMessages.set(messages);
  }

  async readSchedule(schedules: Schedules): Promise<void> {
    const { state, clock } = this.context;
    const due = await scheduleStatus(state, schedules, clock.now());
    for (const [pipeline, { next_due_at: at }] of due)
      if (at === null) this.meters.nextDue.remove({ pipeline });
      else this.meters.nextDue.set({ pipeline }, Date.parse(at) / 1000);
  }

  /** From when on it grows old; null while nothing is loaded. */
  private freshFromMs({ newest, lookups }: PipelineStatus): number | null {
    if (lookups) return lookups.asked_at === null ? null : Date.parse(lookups.asked_at);
    return newest === null ? null : this.endOf(newest);
  }

  /** When the day is over in the service's zone. */
  private endOf(day: Day): number {
    const known = this.dayEnds.get(day);
    if (known !== undefined) return known;
    // An instant of that very day in every zone from 10 hours behind UTC to 13 hours ahead.
    const withinMs = Date.parse(`${day}T10:30:00Z`);
    const endMs = scheduleOf('0 0 * * *', this.context.timeZone).next(withinMs) ?? withinMs;
    this.dayEnds.clear();
    this.dayEnds.set(day, endMs);
    return endMs;
  }
}
