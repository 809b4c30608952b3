/** An answer that is no success, as the error that says what to do next. */
import { EtlError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { foreignText } from '../core/redact.ts';
import { boundedBody, problemText } from './problem.ts';
import { isPassing } from './retry.ts';
import type { Exchange } from './wire.ts';

const HINTS: Readonly<Record<number, string>> = {
  400: 'the service does not accept the request: compare parameters and values with what it documents',
  401: 'the service does not accept a token that was just issued: check that PARTNER_BASE_URL and PARTNER_AUTH_URL belong together, and that the account is active',
  403: 'the account may not do this or is not active: look at it on the pages of the partner programme; what it has no right to is switched off in the settings (pipelines.<name>.enabled)',
  404: 'there is no such thing, or the path in the settings is wrong',
  406: 'the service does not know the media type or language asked for: check `accept` in the settings',
};

/** Reads the answer's body for its message. `what` is the request, `secrets` what the message must not show, `pauseMs` the pause it asks for. */
export async function answerError(
  exchange: Exchange,
  what: string,
  secrets: readonly string[],
  pauseMs: number | null,
): Promise<EtlError> {
  const { status } = exchange;
  if (status < 300) return otherSuccess(what, status);
  if (status >= 300 && status < 400) return redirectError(exchange, what, secrets);
  const { bytes } = await boundedBody(exchange.body, LIMITS.errorBodyBytes);
  const said = problemText(bytes, exchange.header('content-encoding'), secrets);
  const message = `${what}: the service answered ${status}${said === '' ? '' : `: ${said}`}`;
  const hint = HINTS[status];
  const details = hint === undefined ? {} : { hint };
  if (status === 401) return new EtlError('refused', 'token_rejected', message, details);
  if (status === 403) return new EtlError('refused', 'forbidden', message, details);
  if (!isPassing(status)) return new EtlError('failed', `http_${status}`, message, details);
  return new EtlError('retry', `http_${status}`, message, pauseMs === null ? {} : { retryAfterMs: pauseMs });
}

/** Its body may be a part of what was asked for, and is not looked at. */
function otherSuccess(what: string, status: number): EtlError {
  const why = status === 206 ? 'with a part of the answer' : 'where 200 with the whole answer was to come';
  return new EtlError('retry', `http_${status}`, `${what}: the service answered ${status}, ${why}`, {
    hint: 'nothing of it was taken in; a proxy or cache in between may have made it: look at what lies between here and PARTNER_BASE_URL',
  });
}

/** Never followed: the token would go with it to wherever the answer says. */
function redirectError(exchange: Exchange, what: string, secrets: readonly string[]): EtlError {
  const to = foreignText(exchange.header('location') ?? 'nowhere', secrets, 200);
  return new EtlError('failed', 'redirect', `${what}: the service answered ${exchange.status} and points to ${to}`, {
    hint: 'redirects are not followed: check PARTNER_BASE_URL and the paths in the settings',
  });
}
