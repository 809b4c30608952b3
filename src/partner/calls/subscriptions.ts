/**
 * Push subscriptions as calls, and the calls that belong to them: process statuses, signature keys, and what a link leads to.
 *
 * Creating, updating, removing and testing are carried out later: they answer 202 with a process status. Ids are opaque text.
 */
import { assert, EtlError } from '../../core/errors.ts';
import { isPathId } from '../../core/ids.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Answer, Call, Consumed } from '../call.ts';
import type { PartnerSettings } from '../settings.ts';

export interface SubscriptionWish {
  /** https. */
  readonly url: string;
  /** The whole list. */
  readonly resources: readonly string[];
}

export interface SubscriptionChange extends SubscriptionWish {
  readonly id: string;
  /** The id as the service spells it in JSON: `5001` or `"5001"`. */
  readonly idJson: string;
}

type Consume<T> = (answer: Answer) => Promise<Consumed<T>>;
type Request = Pick<Call<unknown>, 'endpoint' | 'budget' | 'method' | 'path'> &
  Partial<Pick<Call<unknown>, 'query' | 'body' | 'alsoAnswers' | 'isOneOfMany'>> & {
    readonly accept: string;
    readonly contentType?: string;
  };

/** The service does not say in which of these it turns a wish down. */
const REFUSALS: readonly number[] = [400, 409, 422];
/** All client errors; those that speak of us and not of the question never are answers (see `isAnswer`). */
const CLIENT_ERRORS: readonly number[] = Array.from({ length: 100 }, (_, i) => 400 + i);

/** All subscriptions of the account. */
export function subscriptionListCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { path } = settings.retailer.subscriptions;
  return callOf(pipelineName, { ...ofSubscriptions(settings), method: 'GET', path }, consume, signal);
}

/** One subscription. 404 is an answer: there is none of that id. Errors: `failed/bad_id`. */
export function subscriptionGetCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  id: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const path = withId(settings.retailer.subscriptions.itemPath, id);
  const request = { ...ofSubscriptions(settings), method: 'GET', path, alsoAnswers: [404] } as const;
  return callOf(pipelineName, request, consume, signal);
}

/** A new subscription. Made twice it would be two requests, so it is not repeated. 400, 409 and 422 are answers. */
export function subscriptionCreateCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  { url, resources }: SubscriptionWish,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { path, contentType } = settings.retailer.subscriptions;
  const body = JSON.stringify({ resources, url });
  const request = { ...ofSubscriptions(settings), method: 'POST', path, body, contentType } as const;
  return callOf(pipelineName, { ...request, alsoAnswers: REFUSALS }, consume, signal);
}

/** Puts address and list in place of those before. 400, 404, 409 and 422 are answers. Errors: `failed/bad_id`. */
export function subscriptionUpdateCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  { id, idJson, url, resources }: SubscriptionChange,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { itemPath, contentType } = settings.retailer.subscriptions;
  const body = `{"id":${idJson},"resources":${JSON.stringify(resources)},"url":${JSON.stringify(url)}}`;
  const path = withId(itemPath, id);
  const request = { ...ofSubscriptions(settings), method: 'PUT', path, body, contentType } as const;
  return callOf(pipelineName, { ...request, alsoAnswers: [404, ...REFUSALS] }, consume, signal);
}

/** Removes a subscription. 400, 404, 409 and 422 are answers. Errors: `failed/bad_id`. */
export function subscriptionDeleteCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  id: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const path = withId(settings.retailer.subscriptions.itemPath, id);
  const request = { ...ofSubscriptions(settings), method: 'DELETE', path } as const;
  return callOf(pipelineName, { ...request, alsoAnswers: [404, ...REFUSALS] }, consume, signal);
}

/** Whether a test can be asked for one subscription; before version 6 all are tested at once. */
export function testsOne(settings: PartnerSettings): boolean {
  return settings.retailer.testPush.path.includes('{id}');
}

/**
 * Asks for a test message to the subscription; where the path names none (see `testsOne`), to every one, and `id` means
 * nothing. 400, 404, 409 and 422 are answers. Errors: `failed/bad_id`.
 */
export function testPushCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  id: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { accept, budget, path } = settings.retailer.testPush;
  const request = { endpoint: 'test-push', accept, budget, method: 'POST' } as const;
  const alsoAnswers = [404, ...REFUSALS];
  const named = testsOne(settings) ? withId(path, id) : path;
  return callOf(pipelineName, { ...request, path: named, alsoAnswers }, consume, signal);
}

/** What became of a request. 404 is an answer: the service has forgotten it, or never knew it. Errors: `failed/bad_id`. */
export function processStatusCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  id: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const path = withId(settings.retailer.processStatus.path, id);
  return callOf(pipelineName, { ...ofProcesses(settings), path, alsoAnswers: [404] }, consume, signal);
}

/** The keys that push messages are signed with. */
export function signatureKeysCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { accept, budget, path } = settings.retailer.signatureKeys;
  const request = { endpoint: 'signature-keys', accept, budget, method: 'GET', path } as const;
  return callOf(pipelineName, request, consume, signal);
}

/**
 * What a link of a push message leads to, under the budget of process statuses. Every client error is an answer that can be one.
 * Errors: `failed/foreign_link` for an address that is not below the service's own, or that a call cannot hold: the token must
 * not go anywhere else.
 */
export function linkCall<T>(
  settings: PartnerSettings,
  pipelineName: string,
  href: string,
  consume: Consume<T>,
  signal?: AbortSignal,
): Call<T> {
  const { path, query } = ownLink(settings.baseUrl, href);
  return callOf(pipelineName, { ...ofProcesses(settings), path, query, alsoAnswers: CLIENT_ERRORS }, consume, signal);
}

function ofSubscriptions({ retailer }: PartnerSettings) {
  const { accept, budget } = retailer.subscriptions;
  return { endpoint: 'subscriptions', accept, budget };
}

function ofProcesses({ retailer }: PartnerSettings) {
  const { accept, budget } = retailer.processStatus;
  return { endpoint: 'process-status', accept, budget, method: 'GET', isOneOfMany: true } as const;
}

function callOf<T>(
  pipeline: string,
  { accept, contentType, ...request }: Request,
  consume: Consume<T>,
  signal: AbortSignal | undefined,
): Call<T> {
  const sent = contentType === undefined ? {} : { 'content-type': contentType };
  return {
    ...request,
    headers: { accept, ...sent, 'accept-encoding': 'gzip' },
    about: { pipeline, windowFrom: null, windowTo: null },
    consume,
    ...(signal ? { signal } : {}),
  };
}

function withId(path: string, id: string): string {
  assert(path.includes('{id}'), `a path without {id}: ${path}`);
  if (!isPathId(id))
    throw new EtlError('failed', 'bad_id', `${JSON.stringify(id.slice(0, LIMITS.pushNameChars))} cannot be an id`);
  // A function, since "$&" in an id would mean something to replace.
  return path.replace('{id}', () => encodeURIComponent(id));
}

/** Path and query of a link below the base address. What is called is made from the base address again, never the link itself. */
function ownLink(baseUrl: string, href: string): { path: string; query: Record<string, string> } {
  const base = new URL(baseUrl);
  const above = base.pathname.replace(/\/+$/, '');
  const link = href.length <= LIMITS.linkChars && URL.canParse(href) ? new URL(href) : null;
  const isOwn =
    link !== null &&
    (link.protocol === 'https:' || link.protocol === 'http:') &&
    link.origin === base.origin &&
    link.username === '' &&
    link.password === '' &&
    link.pathname.startsWith(`${above}/`) &&
    // As part of a name these would be something else to whoever decodes them once more.
    !/%(?:2e|2f|5c|00)/i.test(link.pathname);
  if (!isOwn) throw foreignLink(href, `it does not lie below ${base.origin}${above}`);
  const query = Object.fromEntries(link.searchParams);
  if (Object.keys(query).length !== [...link.searchParams].length)
    throw foreignLink(href, 'it names a parameter twice');
  return { path: link.pathname.slice(above.length), query };
}

function foreignLink(href: string, why: string): EtlError {
  return new EtlError(
    'failed',
    'foreign_link',
    `the link ${JSON.stringify(href.slice(0, 200))} is not followed: ${why}`,
  );
}
