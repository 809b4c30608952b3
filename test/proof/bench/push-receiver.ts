/**
 * The receiver, in a process of its own: argument is JSON of `Told`. Says its address by the channel when it is ready, then answers
 * each `{reset}` or `{}` with what it has seen since the last reset; ends with the channel.
 */

import type { PushSettings } from '../../../src/config.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { InboxWriter } from '../../../src/serve/receiver/inbox-writer.ts';
import { startReceiver } from '../../../src/serve/receiver/receiver.ts';
import { RefusedMessages } from '../../../src/serve/refusals/refused-messages.ts';
import { SignatureKeys } from '../../../src/serve/signature/keys.ts';
import { openSqliteState } from '../../../src/store/sqlite/state.ts';
import { peakMiB, unwatched } from './place.ts';

export interface Told {
  readonly home: string;
  readonly settings: PushSettings;
  readonly keyId: string;
  /** Base64 of X.509. */
  readonly publicKey: string;
}

export interface ReceiverSeen {
  readonly cpuMs: number;
  readonly rssMiB: number;
  readonly peakMiB: number;
  readonly accepted: number;
  readonly refused: number;
  readonly deferred: number;
}

const { home, settings, keyId, publicKey } = JSON.parse(process.argv[2]!) as Told;
const { log } = unwatched;
const clock = systemClock;
const folder = `${home}/inbox`;
const state = await openSqliteState(`${home}/state.db`);
const inbox = await InboxWriter.open({ state, clock, mostBytes: 64 * 2 ** 30, log });
const refused = await RefusedMessages.open({ folder: `${folder}/refused`, mostBytes: 16 * 2 ** 20, clock, log });
const keys = await SignatureKeys.open({
  state,
  clock,
  log,
  refreshSeconds: settings.keyRefreshSeconds,
  fetchKeys: async () => [{ id: keyId, type: 'RSA', publicKey }],
});
const receiver = await startReceiver({ settings, inbox, keys, refused, clock, log });
let since = process.cpuUsage();

process.on('message', () => {
  const { user, system } = process.cpuUsage(since);
  const { accepted, copies, refused: byReason, deferred } = receiver.counts;
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0);
  process.send?.({
    cpuMs: (user + system) / 1000,
    rssMiB: Math.round(process.memoryUsage.rss() / 2 ** 20),
    peakMiB: peakMiB(),
    accepted: accepted + copies,
    refused: sum(byReason),
    deferred: sum(deferred),
  } satisfies ReceiverSeen);
  since = process.cpuUsage();
});
process.on('disconnect', () => process.exit());
process.send?.({ url: receiver.url });
