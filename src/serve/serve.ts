/** What `serve` keeps running, from its lock to its end: so far the receiver of push messages. */
import path from 'node:path';
import type { PushSettings } from '../config.ts';
import { EtlError } from '../core/errors.ts';
import { type Lock, tryLock, whoHolds } from '../disk/lock.ts';
import { InboxWriter, sealOrphans } from '../extract/inbox.ts';
import type { RunContext } from '../run/context.ts';
import { receiverLock } from '../run/inbox.ts';
import { fetchSignatureKeys } from './fetch-keys.ts';
import { startReceiver } from './receiver.ts';
import { RefusedMessages } from './refused-messages.ts';
import { SignatureKeys } from './signature-keys.ts';

export interface ServeOptions {
  readonly context: RunContext;
  readonly push: PushSettings;
  /** What the lock's holder is called. */
  readonly command: string;
  /** Told when messages are taken. */
  readonly onReady: (url: string) => void;
}

const MiB = 1024 * 1024;

/**
 * Serves until the context's signal is aborted, then ends in good order. Errors: `locked/receiver` when another process
 * receives into this inbox, and those of `startReceiver`.
 */
export async function serve({ context, push, command, onReady }: ServeOptions): Promise<void> {
  const { paths, clock, log, signal } = context;
  const lock = await takeReceiverLock(context, command);
  const closing: (() => Promise<unknown>)[] = [() => lock.release()];
  try {
    await sealOrphans(paths.inbox, log);
    const inbox = await InboxWriter.open({
      folder: paths.inbox,
      clock,
      sealAfterMs: push.sealSeconds * 1000,
      mostBytes: push.inboxMiB * MiB,
      log,
    });
    closing.push(() => inbox.close());
    const refused = await RefusedMessages.open({
      folder: path.join(paths.inbox, 'refused'),
      mostBytes: push.refusedMiB * MiB,
      clock,
      log,
    });
    closing.push(() => refused.settled());
    const keys = await SignatureKeys.open({
      file: path.join(paths.state, 'signature-keys.json'),
      clock,
      log,
      refreshSeconds: push.keyRefreshSeconds,
      fetchKeys: (giveUp) => fetchSignatureKeys(context, giveUp),
    });
    closing.push(() => keys.close());
    const receiver = await startReceiver({ settings: push, inbox, keys, refused, clock, log });
    closing.push(() => receiver.close());
    onReady(receiver.url);
    await untilAborted(signal);
  } finally {
    // What was opened last is closed first; a failure must not keep the rest open.
    for (const close of closing.reverse()) await close().catch((error: unknown) => tellClosing(context, error));
  }
}

async function takeReceiverLock({ paths, clock }: RunContext, command: string): Promise<Lock> {
  const file = receiverLock(paths);
  const lock = await tryLock(file, command, clock);
  if (lock) return lock;
  throw new EtlError('locked', 'receiver', `another receiver is at work: ${await whoHolds(file)}`, {
    hint: 'end it first: two receivers cannot write into one inbox',
    concern: { file },
  });
}

function tellClosing({ log }: RunContext, error: unknown): void {
  log.error('something was not closed in good order', { error });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
