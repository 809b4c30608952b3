/** A scripted service, and a context in which subscriptions are changed there. */

import { onTestFinished } from 'vitest';
import type { FetchRecord } from '../../src/core/records.ts';
import { PartnerClient } from '../../src/partner/client.ts';
import { Pacing } from '../../src/partner/pacing/pacing.ts';
import type { PartnerSettings } from '../../src/partner/settings.ts';
import { FolderPlace } from '../../src/store/raw/folder.ts';
import type { StoredAnswer } from '../../src/store/raw/raw.ts';
import { RawStore } from '../../src/store/raw/raw.ts';
import { openSqliteState } from '../../src/store/sqlite/state.ts';
import type { State } from '../../src/store/state.ts';
import { Scene } from '../partner/scene.ts';
import { answer, type Script } from '../partner/scripted-service.ts';

export const PROCESS = '1000001';
export const URL_OF_OURS = 'https://etl.example.com/push';

/** Pauses pass by themselves; the time that a command waits at the most is longer, and passes only when all pauses before it have. */
const LONGEST_PAUSE_MS = 60_000;

export class SubscriptionScene {
  readonly scene: Scene;
  readonly raw: RawStore;
  readonly stop = new AbortController();
  /** Ids of processes that were reported. */
  readonly reported: string[] = [];
  testPath = '/retailer/subscriptions/test/{id}';
  /** Where calls go, but not those for tokens; else the scripted service. */
  baseUrl: string | undefined;

  private constructor(scene: Scene, state: State) {
    this.scene = scene;
    this.raw = new RawStore({ state, place: new FolderPlace(scene.home.root) });
    scene.clock.passUpTo(LONGEST_PAUSE_MS);
  }

  static async open(): Promise<SubscriptionScene> {
    const scene = await Scene.open();
    const state = await openSqliteState(scene.home.database);
    onTestFinished(() => state.close());
    return new SubscriptionScene(scene, state);
  }

  get settings(): PartnerSettings {
    const settings = this.scene.settings(this.baseUrl === undefined ? {} : { baseUrl: this.baseUrl });
    const { retailer } = settings;
    return { ...settings, retailer: { ...retailer, testPush: { ...retailer.testPush, path: this.testPath } } };
  }

  get context() {
    const { clock, log, state } = this.scene;
    const openClient = async (_: string, runId: string, onFetch: (record: FetchRecord) => Promise<void>) => {
      const { settings } = this;
      const pacing = new Pacing({ state, clock, log });
      const token = this.scene.tokens();
      const client = new PartnerClient({ settings, token, clock, log, random: () => 0.5, runId, onFetch, pacing });
      return { client, settings };
    };
    return { clock, log, state, raw: this.raw, signal: this.stop.signal, openClient };
  }

  close(): Promise<void> {
    return this.scene.close();
  }

  following(more: { readonly waits?: boolean; readonly timeoutMs?: number } = {}) {
    const started = ({ id }: { readonly id: string }) => void this.reported.push(id);
    return { waits: true, timeoutMs: 300_000, ...more, started, testsAll: () => void this.reported.push('all') };
  }

  /** What the service answers next, in order. */
  script(...answers: readonly Script[]): this {
    this.scene.service.answers.push(...answers);
    return this;
  }

  /** `POST /retailer/subscriptions` and so on, in the order in which they came. */
  get asked(): string[] {
    return this.scene.service.calls.map(({ method, url }) => `${method} ${url.replace('/api/retailer/', '')}`);
  }

  /** Milliseconds between the calls for process statuses. */
  get pausesMs(): number[] {
    const times = this.scene.service.calls
      .filter(({ url }) => !/list|subscriptions$/.test(url))
      .map(({ atMs }) => atMs);
    return times.slice(1).map((atMs, i) => atMs - times[i]!);
  }

  /** What lies in the raw store, in the order of asking: the questions and the bodies, and all records. */
  async kept(): Promise<{ readonly answers: readonly StoredAnswer[]; readonly records: readonly FetchRecord[] }> {
    const { raw } = this;
    const records: FetchRecord[] = [];
    for await (const record of raw.fetches('process-statuses')) records.push(record);
    const answers: StoredAnswer[] = [];
    for await (const stored of raw.readAnswers(records.filter((record) => record.raw_path !== null)))
      answers.push(stored);
    return { answers, records };
  }
}

export function listed(...subscriptions: readonly object[]): Script {
  return answer(200, JSON.stringify({ subscriptions }));
}

export function started(status = 'PENDING', more: object = {}): Script {
  return answer(202, statusText(status, more));
}

export function answered(status = 'PENDING', more: object = {}): Script {
  return answer(200, statusText(status, more));
}

export function statusText(status: string, more: object = {}): string {
  return JSON.stringify({ id: Number(PROCESS), status, ...more });
}
