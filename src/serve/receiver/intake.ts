/**
 * What becomes of a message that came in whole, from an address that messages are taken from: signature, shape, copies, inbox.
 * All but the last is synchronous and needs no disk, so that a forgery costs less than a true message.
 */
import { MS_PER_DAY } from '../../core/days.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { type PushMessage, parsePushMessage } from '../../extract/push-message.ts';
import type { NewDelivery } from '../../store/tables/inbox.ts';
import type { Deferral, Refusal } from '../refusals/refusals.ts';
import { type SignatureHeader, signatureHeader } from '../signature/header.ts';
import type { KeyFault, SignatureKeys } from '../signature/keys.ts';
import { signatureFault, type VerifyingKey } from '../signature/signature.ts';
import { Copies, hashOf } from './copies.ts';

/** A request as it came in. */
export interface Received {
  readonly receivedAtMs: number;
  readonly sourceAddress: string;
  readonly method: string;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Nobody changes it afterwards. */
  readonly body: Uint8Array;
}

export interface Outcome {
  /** `stored`: it is on disk. `copy`: enough of its copies are. */
  readonly code: 'stored' | 'copy' | Refusal | Deferral;
  /** As the sender wrote it. */
  readonly keyId?: string;
  /** What exactly is wrong, in our words. */
  readonly detail?: string;
}

export interface IntakeOptions {
  readonly keys: Pick<SignatureKeys, 'find' | 'lookFor' | 'doubt'>;
  /** Resolves when the delivery is on disk. Errors: `retry/inbox_full`; any other counts as `inbox_failed`. */
  readonly inbox: { append(delivery: NewDelivery): Promise<void> };
  readonly oldestDays: number;
  readonly copiesKept: number;
}

export class Intake {
  private readonly options: IntakeOptions;
  private readonly copies = new Copies();

  constructor(options: IntakeOptions) {
    this.options = options;
  }

  /** Takes a message; at once where nothing has to be waited for. The promise never rejects. */
  take(received: Received): Outcome | Promise<Outcome> {
    const header = signatureHeader(received.rawHeaders);
    if (typeof header === 'string') return { code: header };
    if (received.body.length === 0) return { code: 'empty_body', keyId: header.keyId };
    const key = this.options.keys.find(header.keyId);
    if (key !== undefined) return this.signed(received, header, key);
    return this.options.keys.lookFor(header.keyId).then((found) => this.lookedFor(received, header, found));
  }

  private lookedFor(
    received: Received,
    header: SignatureHeader,
    found: VerifyingKey | KeyFault,
  ): Outcome | Promise<Outcome> {
    if (typeof found !== 'string') return this.signed(received, header, found);
    return { code: found === 'unknown' ? 'unknown_key' : 'keys_unavailable', keyId: header.keyId };
  }

  private signed(
    received: Received,
    { keyId, signature }: SignatureHeader,
    key: VerifyingKey,
  ): Outcome | Promise<Outcome> {
    const fault = signatureFault(key, signature, received.body);
    if (fault === 'wrong_signature') this.options.keys.doubt();
    if (fault !== null) return { code: fault, keyId };
    const message = this.messageIn(received);
    if ('code' in message) return { ...message, keyId };
    const hash = hashOf(received.body);
    if (this.copies.storedOf(hash) >= this.options.copiesKept) return { code: 'copy' };
    const { receivedAtMs, sourceAddress, body } = received;
    const { resource, resourceId } = message;
    const delivery = { receivedAtMs, sourceAddress, keyId, resource, resourceId, bodySha256: hash, body };
    return this.options.inbox.append(delivery).then(
      () => {
        this.copies.add(hash);
        return { code: 'stored' };
      },
      (thrown: unknown) => notStored(thrown),
    );
  }

  private messageIn({ body, receivedAtMs }: Received): PushMessage | Outcome {
    const { oldestDays } = this.options;
    try {
      const message = parsePushMessage(body);
      if (receivedAtMs - message.timestampMs <= oldestDays * MS_PER_DAY) return message;
      return { code: 'too_old', detail: `it is older than ${oldestDays} days (push.oldestDays)` };
    } catch (thrown) {
      const { code, message } = asEtlError(thrown);
      return { code: code === 'not_json' ? 'not_json' : 'bad_message', detail: message };
    }
  }
}

function notStored(thrown: unknown): Outcome {
  const isFull = thrown instanceof EtlError && thrown.code === 'inbox_full';
  return { code: isFull ? 'inbox_full' : 'inbox_failed', detail: asEtlError(thrown).message };
}
