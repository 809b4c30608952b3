/** One request for a token (client credentials) and what its answer means. Nothing is tried again here. */
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { EtlError } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Log } from '../../core/log.ts';
import type { Token } from '../../store/tables/token.ts';
import { answerTime, retryAfterMs } from '../answer-headers.ts';
import { boundedBody, oauthError, problemText } from '../problem.ts';
import { isPassing } from '../retry.ts';
import type { PartnerSettings } from '../settings.ts';
import { Wire } from '../wire.ts';
import { lifetimeSeconds } from './lifetime.ts';

/** The service does not want us: asking again soon would only make it worse. */
export interface Refused {
  readonly refused: 'credentials_refused' | 'address_banned';
  readonly status: number;
  /** What the service said, fit for a message. */
  readonly said: string;
}

/** How long a pause may be that was named as a date by a clock that may be another one: requests are counted by the hour. */
const LONGEST_UNPROVED_MS = 3_600_000;

/** Printable ASCII without a space: whatever else came could not stand in a header, or would break out of it. */
const TOKEN_TEXT = /^[\x21-\x7e]{1,16384}$/;

const tokenShape = z.object({
  access_token: z.string().regex(TOKEN_TEXT),
  token_type: z.string().optional(),
  expires_in: z.unknown().optional(),
});

/**
 * Asks once. Errors: `retry/…` for the network, 429, 5xx and an answer that is no token; `refused/token_type`;
 * `failed/token_http_<status>` for any other answer. Also throws the signal's reason.
 */
export async function requestToken(
  settings: PartnerSettings,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): Promise<Token | Refused> {
  const { clientId, clientSecret } = settings.credentials;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  // A wire of its own: tokens are asked for every few minutes, and no connection outlives the request.
  const wire = new Wire(settings.authUrl, settings.timeouts, clock);
  const obtainedAtMs = clock.now();
  try {
    const answer = await wire.send({
      method: 'POST',
      url: tokenUrl(settings),
      headers: { authorization: `Basic ${basic}`, accept: 'application/json' },
      signal,
    });
    try {
      const { bytes, end } = await boundedBody(answer.body, LIMITS.tokenBodyBytes);
      if (signal.aborted) throw signal.reason;
      const { status } = answer;
      const at = answerTime(answer.header('date'), clock.now());
      if (status >= 200 && status < 300) {
        if (end === 'broken') throw answer.failure;
        return tokenOf(bytes, obtainedAtMs, at.serviceNowMs ?? at.nowMs, log);
      }
      const said = problemText(bytes, answer.header('content-encoding'), [clientSecret, basic]);
      const oauth = oauthError(bytes);
      return refusalOf(status, oauth, said, retryAfterMs(answer.header('retry-after'), at, LONGEST_UNPROVED_MS));
    } finally {
      answer.close();
    }
  } finally {
    await wire.close();
  }
}

function tokenUrl({ authUrl, token }: PartnerSettings): URL {
  const url = new URL(authUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + token.path;
  url.search = '?grant_type=client_credentials';
  return url;
}

function refusalOf(status: number, oauth: string | null, said: string, pauseMs: number | null): Refused {
  if (status === 404) return { refused: 'address_banned', status, said };
  if (status === 401 || status === 403 || (status === 400 && oauth === 'invalid_client'))
    return { refused: 'credentials_refused', status, said };
  const message = `the authentication service answered ${status}${said === '' ? '' : `: ${said}`}`;
  if (isPassing(status))
    throw new EtlError('retry', `token_http_${status}`, message, pauseMs === null ? {} : { retryAfterMs: pauseMs });
  throw new EtlError('failed', `token_http_${status}`, message, {
    hint: 'compare PARTNER_AUTH_URL and service.token.path with what the service documents',
  });
}

function tokenOf(bytes: Buffer, obtainedAtMs: number, nowMs: number, log: Log): Token {
  const answer = tokenShape.safeParse(jsonOrNull(bytes.toString('utf8')));
  // What was wrong with it is not said: any piece of the answer may be a piece of a token.
  if (!answer.success)
    throw new EtlError('retry', 'token_garbage', 'the authentication service answered something that is no token', {
      hint: 'check PARTNER_AUTH_URL; a proxy in between may have answered in its place',
    });
  const { access_token: value, token_type: type, expires_in: expiresIn } = answer.data;
  if (type !== undefined && type.toLowerCase() !== 'bearer')
    throw new EtlError('refused', 'token_type', 'the authentication service gave a token that is no Bearer token', {
      hint: 'check PARTNER_AUTH_URL: this is not how the partner service works',
    });
  const seconds = lifetimeSeconds({ value, expiresIn, serviceNowMs: nowMs }, log);
  return { value, obtainedAtMs, expiresAtMs: obtainedAtMs + seconds * 1000 };
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
