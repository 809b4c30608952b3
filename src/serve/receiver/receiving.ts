/** The receiver with all that it needs: the inbox, the messages that were refused, the service's keys. */
import path from 'node:path';
import type { PushSettings } from '../../config.ts';
import type { RunContext } from '../../run/context.ts';
import type { OpenParts } from '../open-parts.ts';
import type { ReceiverCounts } from '../refusals/counts.ts';
import { RefusedMessages } from '../refusals/refused-messages.ts';
import { SignatureKeys } from '../signature/keys.ts';
import { fetchSignatureKeys } from './fetch-keys.ts';
import { InboxWriter } from './inbox-writer.ts';
import { announceReceiver, newProofKey, withdrawReceiver } from './proof.ts';
import { startReceiver } from './receiver.ts';

const MiB = 1024 * 1024;

export interface Receiving {
  /** Where messages are taken. */
  readonly url: string;
  readonly counts: ReceiverCounts;
  /** Whether what comes now can be stored. */
  readonly isTaking: () => boolean;
}

/** Takes messages until the parts are closed. The receiver's lock is the caller's. Errors: those of `startReceiver`. */
export async function startReceiving(context: RunContext, push: PushSettings, parts: OpenParts): Promise<Receiving> {
  const { paths, state, clock, log } = context;
  const inbox = await InboxWriter.open({ state, clock, mostBytes: push.inboxMiB * MiB, log });
  parts.add('the inbox', () => inbox.close());
  const refused = await RefusedMessages.open({
    folder: path.join(paths.inbox, 'refused'),
    mostBytes: push.refusedMiB * MiB,
    clock,
    log,
  });
  parts.add('the refused messages', () => refused.settled());
  const keys = await SignatureKeys.open({
    state,
    clock,
    log,
    refreshSeconds: push.keyRefreshSeconds,
    fetchKeys: (giveUp) => fetchSignatureKeys(context, giveUp),
  });
  parts.add('the signature keys', () => keys.close());
  const proofKey = newProofKey();
  const isTaking = () => inbox.isTaking;
  const receiver = await startReceiver({ settings: push, inbox, isTaking, keys, refused, clock, log, proofKey });
  parts.add('the receiver', () => receiver.close());
  await announceReceiver(state, { url: receiver.url, key: proofKey }, clock);
  parts.add('where the receiver listens', () => withdrawReceiver(state));
  return { url: receiver.url, counts: receiver.counts, isTaking };
}
