/** The service's areas as a run uses them: a client each, opened when first needed, and where the records of fetches go. */
import { assert } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import { AREAS, type Area } from '../core/source.ts';
import type { PartnerSettings } from '../partner/settings.ts';
import { pairOf } from '../partner/token/circuit.ts';
import type { Gatherer } from '../store/raw/gather.ts';
import type { Partner, RunContext } from './context.ts';
import type { Session } from './session.ts';

/** Whether calls fill it: what is pushed is no call, and a child comes with the calls of its parent. */
export function isCalled({ source }: Pipeline): boolean {
  return source.area !== null;
}

/** What calls into the area need; null where nothing is set to make them with. */
export function partnerIfAny(
  { partnerSettings }: Pick<RunContext, 'partnerSettings'>,
  area: Area,
): PartnerSettings | null {
  try {
    return partnerSettings(area);
  } catch {
    return null;
  }
}

/** A pair of credentials that is set, and the areas that it is used for. */
export interface CredentialPair {
  readonly areas: readonly Area[];
  readonly settings: PartnerSettings;
}

/** The pairs by what the state calls them, which the areas of a pair share. */
export function credentialPairs(context: Pick<RunContext, 'partnerSettings'>): Map<string, CredentialPair> {
  const pairs = new Map<string, CredentialPair>();
  for (const area of AREAS) {
    const settings = partnerIfAny(context, area);
    if (settings === null) continue;
    const pair = pairOf(settings);
    pairs.set(pair, { areas: [...(pairs.get(pair)?.areas ?? []), area], settings });
  }
  return pairs;
}

export class Partners {
  /** Areas whose credentials were refused: no more calls into them. */
  readonly refused = new Set<Area>();
  private readonly session: Session;
  private readonly open = new Map<Area, Promise<Partner>>();
  private readonly gatherers = new Map<string, Gatherer>();

  constructor(session: Session) {
    this.session = session;
  }

  /** Errors: `usage/no_credentials`. */
  of(pipeline: Pipeline): Promise<Partner> {
    const { area } = pipeline.source;
    assert(area, `${pipeline.name} is filled without calls`);
    const { context, ledger } = this.session;
    const partner = this.open.get(area) ?? context.openClient(area, ledger.runId, (record) => this.record(record));
    this.open.set(area, partner);
    return partner;
  }

  /** From now on records of the pipeline's fetches go to the gatherer, until `work` is done; then it is closed. */
  async gathering<T>(pipeline: Pipeline, gatherer: Gatherer, work: () => Promise<T>): Promise<T> {
    this.gatherers.set(pipeline.name, gatherer);
    try {
      return await work();
    } finally {
      this.gatherers.delete(pipeline.name);
      await gatherer.close();
    }
  }

  async close(): Promise<void> {
    const partners = await Promise.allSettled(this.open.values());
    for (const partner of partners) if (partner.status === 'fulfilled') await partner.value.client.close();
  }

  private async record(record: FetchRecord): Promise<void> {
    const { context, tally } = this.session;
    tally.calls += 1;
    const gatherer = this.gatherers.get(record.pipeline);
    await (gatherer ? gatherer.record(record) : context.raw.record(record));
  }
}
