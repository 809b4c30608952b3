/** Calls as their records come, and requests for tokens as the files between processes tell of them. */
import { isNamed } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { NewFetches } from '../../extract/new-fetches.ts';
import { AREAS, type PartnerSettings } from '../../partner/settings.ts';
import { tokenFiles } from '../../partner/token.ts';
import { readCircuit } from '../../partner/token-circuit.ts';
import type { RunContext } from '../../run/context.ts';
import type { Meters } from './meters.ts';

/** Calls of runs and of commands, also of runs that are at work. */
export class CallCounts {
  private readonly clock: RunContext['clock'];
  private readonly meters: Meters;
  private readonly sources: readonly NewFetches[];

  constructor({ pipelines, paths, clock }: RunContext, meters: Meters) {
    this.clock = clock;
    this.meters = meters;
    // What is pushed is no call; parts come with their whole.
    const called = pipelines.filter((pipeline) => isNamed(pipeline) && pipeline.source.kind !== 'inbox');
    const since = { vaultRoot: paths.vault, sinceMs: clock.now() };
    this.sources = called.map(({ name }) => new NewFetches({ ...since, pipeline: name }));
  }

  async read(): Promise<void> {
    const nowMs = this.clock.now();
    for (const source of this.sources) await source.read(nowMs, (fetch) => this.count(fetch));
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
  private readonly context: Pick<RunContext, 'paths' | 'clock' | 'log' | 'partnerSettings'>;
  private readonly meters: Meters;
  private countedMs: number;

  constructor(context: RunContext, meters: Meters) {
    this.context = context;
    this.meters = meters;
    this.countedMs = context.clock.now();
  }

  async read(): Promise<void> {
    const { meters, countedMs } = this;
    const { clock, log } = this.context;
    const nowMs = clock.now();
    for (const [circuitFile, { areas, settings }] of this.pairs()) {
      const { requestsMs, refusal } = await readCircuit(circuitFile, settings.credentials, nowMs, log);
      const isNew = (ms: number) => ms > countedMs && ms <= nowMs;
      meters.tokenRequests.inc({ areas }, requestsMs.filter(isNew).length);
      meters.tokenRequestsLastHour.set({ areas }, requestsMs.length);
      meters.tokenLimit.set({ areas }, settings.token.mostPerHour);
      meters.tokenRefused.set({ areas }, refusal === null ? 0 : 1);
    }
    this.countedMs = nowMs;
  }

  /** The pairs of credentials, by the file of their circuit; each with the areas that it is used for. */
  private pairs(): Map<string, { areas: string; settings: PartnerSettings }> {
    const { paths, partnerSettings } = this.context;
    const pairs = new Map<string, { areas: string; settings: PartnerSettings }>();
    for (const area of AREAS) {
      const settings = settingsOrNull(() => partnerSettings(area));
      if (settings === null) continue;
      const { circuit } = tokenFiles(settings, paths);
      const known = pairs.get(circuit);
      pairs.set(circuit, { areas: known ? `${known.areas},${area}` : area, settings });
    }
    return pairs;
  }
}

/** null where nothing is set to make calls with. */
function settingsOrNull(read: () => PartnerSettings): PartnerSettings | null {
  try {
    return read();
  } catch {
    return null;
  }
}
