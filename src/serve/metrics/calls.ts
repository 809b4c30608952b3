/** Calls as their records come, and requests for tokens as the state has them. */
import type { FetchRecord } from '../../core/records.ts';
import { readCircuit } from '../../partner/token/circuit.ts';
import type { RunContext } from '../../run/context.ts';
import { credentialPairs, isCalled } from '../../run/partners.ts';
import type { StateDb } from '../../store/state.ts';
import { fetchesWritten, lastWritten } from '../../store/tables/fetches.ts';
import type { Meters } from './meters.ts';

/** Calls of runs and of commands, also of runs that are at work. */
export class CallCounts {
  private readonly db: StateDb;
  private readonly called: ReadonlySet<string>;
  private readonly meters: Meters;
  /** The row up to which everything is counted; null before the first look. */
  private last: number | null = null;

  constructor({ pipelines, state }: RunContext, meters: Meters) {
    this.db = state.db;
    this.called = new Set(pipelines.filter(isCalled).map(({ name }) => name));
    this.meters = meters;
  }

  /** Counts nothing of what was written before the first look. */
  async read(): Promise<void> {
    if (this.last === null) {
      this.last = await lastWritten(this.db);
      return;
    }
    const { fetches, last } = await fetchesWritten(this.db, this.last);
    this.last = last;
    for (const fetch of fetches) if (this.called.has(fetch.pipeline)) this.count(fetch);
  }

  private count(fetch: FetchRecord): void {
    const { calls, receivedBytes, decodedBytes, receivedItems } = this.meters;
    const { pipeline, endpoint = pipeline, status } = fetch;
    calls.inc({ endpoint, status: status === null ? 'none' : String(status) });
    receivedBytes.inc({ pipeline }, fetch.bytes_received);
    decodedBytes.inc({ pipeline }, fetch.bytes_decoded);
    receivedItems.inc({ pipeline }, fetch.items ?? 0);
  }
}

/** The circuit remembers requests for an hour: who scrapes less often than that misses some. */
export class TokenCounts {
  private readonly context: Pick<RunContext, 'state' | 'clock' | 'partnerSettings'>;
  private readonly meters: Meters;
  private countedMs: number;

  constructor(context: RunContext, meters: Meters) {
    this.context = context;
    this.meters = meters;
    this.countedMs = context.clock.now();
  }

  async read(): Promise<void> {
    const { meters, countedMs } = this;
    const { clock, state } = this.context;
    const nowMs = clock.now();
    for (const { settings, areas: named } of credentialPairs(this.context).values()) {
      const areas = named.join(',');
      const { requestsMs, refusal } = await readCircuit(state.db, settings, nowMs);
      const isNew = (ms: number) => ms > countedMs && ms <= nowMs;
      meters.tokenRequests.inc({ areas }, requestsMs.filter(isNew).length);
      meters.tokenRequestsLastHour.set({ areas }, requestsMs.length);
      meters.tokenLimit.set({ areas }, settings.token.mostPerHour);
      meters.tokenRefused.set({ areas }, refusal === null ? 0 : 1);
    }
    this.countedMs = nowMs;
  }
}
