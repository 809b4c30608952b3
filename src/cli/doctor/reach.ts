/**
 * Whether push messages would find their way to our own receiver: at the address where it listens, and at those that subscriptions
 * name. Each is sent an unsigned message, which our receiver refuses, and a challenge, which only the receiver of this installation
 * can answer. Nothing that is sent is of use to anybody else.
 */
import { Agent, request } from 'undici';
import type { Clock } from '../../core/clock.ts';
import { foreignText } from '../../core/redact.ts';
import {
  type AnnouncedReceiver,
  CHALLENGE_HEADER,
  newChallenge,
  PROOF_HEADER,
  proofOf,
} from '../../serve/receiver/proof.ts';
import { broken, type Finding, ok, warning } from './finding.ts';

const TIMEOUT_MS = 10_000;
const SHOWN_CHARACTERS = 200;

/** What came of asking: a status, with whether our own receiver said it; or why there was none. */
export type Reached = { readonly status: number; readonly isOurs: boolean } | { readonly failed: string };

export interface ReachOptions {
  readonly clock: Clock;
  /** The receiver that is at work here; null: none is, so nobody can prove to be it. */
  readonly receiver: AnnouncedReceiver | null;
  /** Of our own address the certificate need not name it: the proof counts. */
  readonly isOwnAddress?: boolean;
}

/** Sends the unsigned message, without credentials; redirects are not followed. Never throws. */
export async function reach(url: string, { clock, receiver, isOwnAddress = false }: ReachOptions): Promise<Reached> {
  const stop = new AbortController();
  const over = new AbortController();
  const dispatcher = new Agent(isOwnAddress ? { connect: { rejectUnauthorized: false } } : {});
  clock.sleep(TIMEOUT_MS, over.signal).then(
    () => stop.abort(),
    () => undefined,
  );
  try {
    const challenge = newChallenge();
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [CHALLENGE_HEADER]: challenge },
      body: '{}',
      signal: stop.signal,
      dispatcher,
    });
    body.on('error', () => undefined).destroy();
    const proof = receiver && proofOf(receiver.key, challenge);
    return { status: statusCode, isOurs: proof !== null && headers[PROOF_HEADER] === proof };
  } catch (error) {
    if (stop.signal.aborted) return { failed: `no answer within ${TIMEOUT_MS / 1000} s` };
    const { code, message } = error as NodeJS.ErrnoException;
    return { failed: code ?? message };
  } finally {
    over.abort();
    await dispatcher.destroy();
  }
}

/** What that means at an address that a subscription names. `url` is the service's text. */
export function judgeReached(url: string, reached: Reached, webhookPath: string, isReceiving: boolean): Finding {
  const at = shown(url);
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
    return broken(`${at} is no https address`, 'subscribe with one: the service pushes to https only');
  if ('failed' in reached)
    return warning(
      `${at} cannot be reached from here (${shown(reached.failed)})`,
      'start partner-etl serve; check name, firewall and certificate. A router may keep just this machine from its own address',
    );
  if (reached.isOurs) return judgeOurs(at, reached.status, webhookPath);
  return judgeOther(at, reached.status, webhookPath, isReceiving);
}

/** The same where our receiver listens; null: none is at work. */
export async function checkOwnReceiver(
  receiver: AnnouncedReceiver | null,
  webhookPath: string,
  clock: Clock,
): Promise<Finding> {
  const fix = 'start partner-etl serve; messages that come meanwhile are lost after a quarter of an hour';
  if (receiver === null) return warning('no receiver is at work here', fix);
  const url = reachable(receiver.url);
  const reached = await reach(url, { clock, receiver, isOwnAddress: true });
  if ('failed' in reached) return broken(`${url} does not answer (${shown(reached.failed)})`, fix);
  if (reached.isOurs) return judgeOurs(url, reached.status, webhookPath);
  return broken(
    `${url} answers ${reached.status}, but it is not the receiver of this installation`,
    'end what listens there, or set push.port to another one; then start partner-etl serve again',
  );
}

function judgeOurs(at: string, status: number, webhookPath: string): Finding {
  if (status === 403) return ok(`${at} is our receiver, which takes messages from the service’s addresses alone`);
  if (status === 400 || status === 401) return ok(`${at} is our receiver, which refuses an unsigned message`);
  if (status === 404)
    return broken(
      `${at} leads to our receiver, but not to its path`,
      `let it lead to ${webhookPath}, or set push.path`,
    );
  if (status === 503)
    return warning(
      `${at} is our receiver, which takes no message now`,
      'see the log of serve: disk, inbox, or it is ending',
    );
  return warning(
    `${at} is our receiver, but something on the way answers ${status}`,
    'let the proxy pass POST as it is',
  );
}

function judgeOther(at: string, status: number, webhookPath: string, isReceiving: boolean): Finding {
  const isLikeOurs = status === 400 || status === 401 || status === 403;
  if (!isReceiving && isLikeOurs)
    return warning(
      `${at} answers ${status}, as a receiver does, but none is at work here to compare it with`,
      'start partner-etl serve here, or ask doctor on the machine where it runs',
    );
  if (status === 404)
    return broken(`${at} answers 404`, `let it lead to the path ${webhookPath} of the receiver, or set push.path`);
  if (status >= 500)
    return broken(`${at} answers ${status}: the proxy finds no receiver`, 'start partner-etl serve, or fix the proxy');
  if (status >= 300 && status < 400)
    return broken(
      `${at} answers ${status}, a redirect, which no message follows`,
      'subscribe with the address it leads to',
    );
  const who = isLikeOurs ? 'another receiver, or the proxy takes the header of the proof away' : 'not our receiver';
  return warning(
    `${at} answers ${status}: ${who}`,
    `see what answers there, and let the proxy pass ${CHALLENGE_HEADER} and ${PROOF_HEADER}`,
  );
}

/** What listens on every address is reached on this machine's. */
function reachable(url: string): string {
  const address = new URL(url);
  if (address.hostname === '0.0.0.0') address.hostname = '127.0.0.1';
  if (address.hostname === '[::]') address.hostname = '[::1]';
  return address.href;
}

function shown(text: string): string {
  return foreignText(text, [], SHOWN_CHARACTERS);
}
