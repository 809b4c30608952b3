/**
 * Subscriptions for a person: read, and changed by requests that the service carries out later, whose end is waited for. There
 * is no lock and no record of a run, so it may be done while a night runs.
 */
import { EtlError } from '../../core/errors.ts';
import type { ProcessStatus, SignatureKey, Subscription } from '../../extract/subscription-shapes.ts';
import type { SubscriptionWish } from '../../partner/calls/subscriptions.ts';
import { hasMessage } from '../../store/tables/inbox.ts';
import type { RunContext } from '../context.ts';
import { type StartAnswer, type SubscriptionCalls, withSubscriptionCalls } from './calls.ts';
import { asAnswered, commandLine, type Followed, followAgain, followStarted, type Waiting } from './process-waiting.ts';
import { changedWish, checkedChange, newWish, refuseTakenUrl, type WishChange } from './wish.ts';

export interface Following {
  /** Whether the end is waited for. */
  readonly waits: boolean;
  readonly timeoutMs: number;
  /** Gets the process as soon as it is known: by its id somebody can go on waiting after a crash. */
  readonly started: (process: ProcessStatus) => void;
}

type SubscribingContext = Pick<RunContext, 'clock' | 'signal' | 'raw' | 'openClient' | 'log' | 'state'>;

/** A subscription as it shall be; the id of a new one is known only after its end. */
export interface Wished extends SubscriptionWish {
  readonly id: string | null;
}

export interface Changed extends Followed {
  readonly wished: Wished;
}

/** Ids that a message names. */
const IDS_SHOWN = 20;

/** All that there are. Errors of this and all below: `usage/no_credentials`, `refused/…`, and those of `PartnerClient.call`. */
export function listSubscriptions(context: SubscribingContext): Promise<readonly Subscription[]> {
  return withSubscriptionCalls(context, (calls) => calls.list());
}

/** Errors: `failed/no_subscription`. */
export function getSubscription(context: SubscribingContext, id: string): Promise<Subscription> {
  return withSubscriptionCalls(context, async (calls) => (await calls.find(id)) ?? refuseUnknown(calls, id));
}

export function signatureKeys(context: SubscribingContext): Promise<readonly SignatureKey[]> {
  return withSubscriptionCalls(context, (calls) => calls.keys());
}

/** Errors: those of `newWish`; `usage/url_taken`, `failed/subscription_refused`, `failed/perhaps_done`. */
export async function createSubscription(
  context: SubscribingContext,
  url: string,
  resources: readonly string[],
  following: Following,
): Promise<Changed> {
  const wish = newWish(url, resources);
  return withSubscriptionCalls(context, async (calls) => {
    refuseTakenUrl(wish, await calls.list());
    const follow = follower(context, calls, following);
    const answer = await hinted(calls.create(wish, following.started), commandLine('list'));
    const followed = await follow(startedBy(answer, 'create it'));
    return { ...followed, wished: { ...wish, id: followed.process?.entityId ?? null } };
  });
}

/**
 * Sends the whole subscription as it shall be, since the service replaces it. Where nothing is to be changed nothing is sent, and
 * there is neither a process nor an error. Errors: those of `checkedChange` and `changedWish`; `failed/no_subscription`,
 * `usage/url_taken`, `failed/subscription_refused`, `failed/perhaps_done`.
 */
export async function updateSubscription(
  context: SubscribingContext,
  id: string,
  wanted: WishChange,
  following: Following,
): Promise<Changed> {
  const change = checkedChange(wanted);
  return withSubscriptionCalls(context, async (calls) => {
    const all = await calls.list();
    const current = all.find((one) => one.id === id) ?? unknown(id, all);
    const wish = changedWish(current, change);
    if (wish === null)
      return { process: null, error: null, wished: { id, url: current.url ?? '', resources: current.resources } };
    const others = all.filter((one) => one !== current);
    if (change.url !== undefined) refuseTakenUrl(wish, others);
    const follow = follower(context, calls, following);
    const request = calls.update({ ...wish, id, idJson: current.idJson }, following.started);
    const answer = await hinted(request, commandLine('get', id));
    if (isUnknown(answer)) return refuseUnknown(calls, id, answer);
    return { ...(await follow(startedBy(answer, 'change it'))), wished: { ...wish, id } };
  });
}

/** Errors: `failed/no_subscription`, `failed/subscription_refused`, `failed/perhaps_done`. */
export function removeSubscription(context: SubscribingContext, id: string, following: Following): Promise<Followed> {
  return withSubscriptionCalls(context, async (calls) => {
    const follow = follower(context, calls, following);
    const answer = await hinted(calls.remove(id, following.started), commandLine('list'));
    if (isUnknown(answer)) return refuseUnknown(calls, id, answer);
    return follow(startedBy(answer, 'remove it'));
  });
}

export interface Testing extends Following {
  /** Called before anything is sent where the service tests every subscription at once. */
  readonly testsAll: () => void;
}

export interface Tested extends Followed {
  /** The subscription that was tested; null where all are tested at once. */
  readonly id: string | null;
}

/**
 * Asks for a test message. `id` may be left out where there is one subscription, or where the service tests all of them.
 * Errors: `failed/no_subscription`, `usage/no_id`, `failed/subscription_refused`, `failed/perhaps_done`.
 */
export function testSubscription(context: SubscribingContext, id: string | null, following: Testing): Promise<Tested> {
  return withSubscriptionCalls(context, async (calls) => {
    const named = calls.testsOne ? (id ?? (await onlyOne(calls))) : null;
    if (!calls.testsOne) following.testsAll();
    const follow = follower(context, calls, following);
    const request = calls.test(named ?? '', following.started);
    const answer = await hinted(request, 'look whether a test message came before asking for another one');
    if (isUnknown(answer)) {
      if (named !== null && id !== null) return refuseUnknown(calls, id, answer);
      throw nothingToTest();
    }
    return { ...(await follow(startedBy(answer, 'test it'))), id: named };
  });
}

/** Waits for the end of a process that was started before. */
export function waitForProcess(context: SubscribingContext, id: string, following: Following): Promise<Followed> {
  return withSubscriptionCalls(context, (calls) => followAgain(waitingOf(context, calls), id, following.timeoutMs));
}

/** To be made before the request is sent: a message may come before its answer. */
function follower(context: SubscribingContext, calls: SubscriptionCalls, following: Following) {
  const waiting = waitingOf(context, calls);
  return (process: ProcessStatus): Promise<Followed> =>
    following.waits ? followStarted(waiting, process, following.timeoutMs) : Promise.resolve(asAnswered(process));
}

function waitingOf({ clock, log, signal, state }: SubscribingContext, calls: SubscriptionCalls): Waiting {
  const sinceMs = clock.now();
  return {
    clock,
    log,
    signal,
    ask: (id, stop) => calls.status(id, stop),
    hasCome: (id) => hasMessage(state.db, { resource: 'PROCESS_STATUS', resourceId: id, sinceMs }),
  };
}

/** Errors: `failed/subscription_refused`. */
function startedBy(answer: StartAnswer, what: string): ProcessStatus {
  if (answer.kind === 'started') return answer.process;
  const { status, reason } = answer;
  throw new EtlError('failed', 'subscription_refused', `the service refuses to ${what} (${status}): ${reason}`);
}

/** The same, with how to find out what became of a request whose answer was lost. */
async function hinted(request: Promise<StartAnswer>, fix: string): Promise<StartAnswer> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof EtlError) || error.code !== 'perhaps_done') throw error;
    const { kind, code, message, concern, cause } = error;
    const hint = `find out before it is sent again: ${fix}`;
    throw new EtlError(kind, code, message, { concern, cause, hint });
  }
}

type Refused = Extract<StartAnswer, { kind: 'refused' }>;

function isUnknown(answer: StartAnswer): answer is Refused {
  return answer.kind === 'refused' && answer.status === 404;
}

/** Errors: `failed/no_subscription`. */
async function onlyOne(calls: SubscriptionCalls): Promise<string> {
  const all = await calls.list();
  const [first] = all;
  if (first === undefined) throw nothingToTest();
  if (all.length === 1) return first.id;
  throw new EtlError('usage', 'no_id', `there are ${all.length} subscriptions, and none is named`, {
    hint: listText(all),
  });
}

function nothingToTest(): EtlError {
  return new EtlError('failed', 'no_subscription', 'there is no subscription to test', {
    hint: `make one: ${commandLine('create', 'https://etl.example.com/push', '--resources', 'PROCESS_STATUS')}`,
  });
}

/** Errors: always `failed/no_subscription`, with the ids there are as far as the service says them. */
async function refuseUnknown(calls: SubscriptionCalls, id: string, answer?: Refused): Promise<never> {
  // Only the words are poorer without it.
  const all = await calls.list().catch(() => null);
  return unknown(id, all, (answer?.attempt ?? 1) > 1);
}

function unknown(id: string, all: readonly Subscription[] | null, wasRepeated = false): never {
  const perhaps = wasRepeated ? '; an earlier try, whose answer was lost, may have removed it' : '';
  throw new EtlError('failed', 'no_subscription', `there is no subscription ${id}${perhaps}`, {
    ...(all === null ? {} : { hint: listText(all) }),
  });
}

function listText(all: readonly Subscription[]): string {
  if (all.length === 0) return 'there are none at all';
  const ids = all.slice(0, IDS_SHOWN).map(({ id }) => id);
  return `there ${all.length === 1 ? 'is' : 'are'} ${ids.join(', ')}${all.length > ids.length ? ' and more' : ''}`;
}
