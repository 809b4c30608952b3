/**
 * Answers about push subscriptions, process statuses and signature keys → values.
 *
 * Tolerant: an id may be a number or a text and is text for us; a member may be missing. What is unknown, or of another type
 * than it should have, goes to `extra` as it was sent.
 */
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import {
  type ExactDocument,
  type ExactJson,
  type ExactObject,
  exactText,
  isExactArray,
  isExactObject,
} from '../json/exact-json.ts';
import { kindOf, plainText } from '../sources/values.ts';

export interface Subscription {
  readonly id: string;
  /** The id as the service spelled it in JSON: `5001` or `"5001"`. */
  readonly idJson: string;
  readonly url: string | null;
  /** In the order in which they were sent. */
  readonly resources: readonly string[];
  readonly extra: ExactObject | null;
}

export interface ProcessStatus {
  readonly id: string;
  /** What the process is about; of a creation it is known only after its end. */
  readonly entityId: string | null;
  /** Such as CREATE_SUBSCRIPTION. */
  readonly eventType: string | null;
  readonly description: string | null;
  /** As sent: PENDING, SUCCESS, FAILURE, TIMEOUT. */
  readonly status: string;
  /** Why it failed. */
  readonly errorMessage: string | null;
  /** As sent: ISO 8601 with an offset. */
  readonly createTimestamp: string | null;
  /** As sent: [{rel, href, method}]. */
  readonly links: ExactJson | null;
  readonly extra: ExactObject | null;
}

/** As sent and not looked into; what is missing is ''. */
export interface SignatureKey {
  readonly id: string;
  /** RSA. */
  readonly type: string;
  /** Base64 of X.509. */
  readonly publicKey: string;
}

type Parsed = Pick<ExactDocument, 'value'>;

const ENDS: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'TIMEOUT']);

/** Whether a process with that status is over: it never changes any more. */
export function isEnded(status: string): boolean {
  return ENDS.has(status.toUpperCase());
}

/**
 * Every subscription of a list; an id that stands twice counts once, as it stands last. Errors: `failed/not_an_object`,
 * `failed/no_subscriptions`, and those of `parseSubscription`: of a list with one that cannot be read nothing is known for sure.
 */
export function parseSubscriptions({ value }: Parsed): Subscription[] {
  const list = listIn(value, 'subscriptions', 'no_subscriptions');
  const found = list.map((one, i) => subscriptionIn(one, `subscription ${i + 1} of the list`));
  return [...new Map(found.map((one) => [one.id, one])).values()];
}

/** One subscription. Errors: `failed/not_an_object`, `failed/no_subscription_id`. */
export function parseSubscription({ value }: Parsed): Subscription {
  return subscriptionIn(value, 'the answer');
}

/** Errors: `failed/not_an_object`, `failed/no_process_id`, `failed/no_process_status`. */
export function parseProcessStatus({ value }: Parsed): ProcessStatus {
  const members = new Members(objectOf(value, 'the answer', 'a process status'));
  // `id` up to version 4 of the interface, `processStatusId` from version 5 on.
  const id = members.text('processStatusId') || members.text('id');
  if (!id) throw new EtlError('failed', 'no_process_id', 'the answer names no process');
  const status = members.text('status');
  if (!status) throw new EtlError('failed', 'no_process_status', 'the answer has no status of the process');
  return {
    id,
    entityId: members.text('entityId'),
    eventType: members.text('eventType'),
    description: members.text('description'),
    status,
    errorMessage: members.text('errorMessage'),
    createTimestamp: members.text('createTimestamp'),
    links: members.any('links'),
    extra: members.rest(),
  };
}

/** Every key, also one that cannot be used. Errors: `failed/not_an_object`, `failed/no_signature_keys`. */
export function parseSignatureKeys({ value }: Parsed): SignatureKey[] {
  return listIn(value, 'signatureKeys', 'no_signature_keys').map((one) => {
    const members = new Members(isExactObject(one) ? one : new Map());
    const text = (name: string) => members.text(name) ?? '';
    return { id: text('id'), type: text('type'), publicKey: text('publicKey') };
  });
}

function subscriptionIn(value: ExactJson, what: string): Subscription {
  const object = objectOf(value, what, 'a subscription');
  const members = new Members(object);
  const id = members.text('id');
  if (!id) throw new EtlError('failed', 'no_subscription_id', `${what} has no id`);
  return {
    id,
    idJson: exactText(object.get('id')!),
    url: members.text('url'),
    resources: members.texts('resources'),
    extra: members.rest(),
  };
}

function objectOf(value: ExactJson, what: string, expected: string): ExactObject {
  if (isExactObject(value)) return value;
  throw new EtlError('failed', 'not_an_object', `${what} is ${kindOf(value)}, not ${expected}`);
}

function listIn(value: ExactJson, name: string, code: string): readonly ExactJson[] {
  const list = objectOf(value, 'the answer', `an object with a list "${name}"`).get(name);
  if (isExactArray(list)) return list;
  const found = list === undefined ? 'is missing' : `is ${kindOf(list)}`;
  throw new EtlError('failed', code, `the list "${name}" of the answer ${found}`);
}

/** Takes the members of an object one by one; `rest` are those that nobody could take. */
class Members {
  private readonly left: Map<string, ExactJson>;

  constructor(object: ExactObject) {
    this.left = new Map(object);
  }

  text(name: string): string | null {
    const text = plainText(this.left.get(name));
    if (text !== null) this.left.delete(name);
    return text;
  }

  texts(name: string): string[] {
    const list = this.left.get(name);
    if (!isExactArray(list)) return [];
    const texts = list.flatMap((one) => plainText(one) ?? []);
    if (texts.length === list.length) this.left.delete(name);
    return texts;
  }

  any(name: string): ExactJson | null {
    const value = this.left.get(name) ?? null;
    this.left.delete(name);
    return value;
  }

  /** Absent and null are the same. */
  rest(): ExactObject | null {
    for (const [name, value] of this.left) if (value === null) this.left.delete(name);
    return this.left.size === 0 ? null : this.left;
  }
}

/**
 * The process that a document describes; where it names none, the one that was asked about. Errors: those of
 * `parseProcessStatus`, `failed/answer_too_large`.
 */
export function processIn(document: ExactDocument, askedId: string | null): ProcessStatus {
  const { value } = document;
  if (document.sentText(value).length > LIMITS.stateAnswerBytes)
    throw new EtlError(
      'failed',
      'answer_too_large',
      `the process status is larger than ${LIMITS.stateAnswerBytes} bytes`,
    );
  if (askedId === null || !isExactObject(value)) return parseProcessStatus(document);
  const isNamed = ['processStatusId', 'id'].some((name) => (plainText(value.get(name)) ?? '') !== '');
  return parseProcessStatus(isNamed ? document : { value: new Map([...value, ['processStatusId', askedId]]) });
}

/** A process status is one record. Errors: those of `processIn`. */
export function processItems(document: ExactDocument, askedId: string | null): number {
  processIn(document, askedId);
  return 1;
}

/** Whether the process is the one that was asked about; ids that are hexadecimal may come in either case. */
export function isAsked({ id }: ProcessStatus, askedId: string): boolean {
  return id.toLowerCase() === askedId.toLowerCase();
}
