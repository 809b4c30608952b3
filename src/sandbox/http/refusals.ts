/** Answers that refuse a call, in the forms in which they were recorded of the real service. */

import type { RefusalFault } from '../faults/kinds.ts';
import { type Answer, type Call, gateProblem, notFound, problem } from './call.ts';
import type { BudgetState } from './limits.ts';
import type { TokenRefusal } from './tokens.ts';

const HTML = 'text/html; charset=UTF-8';

function html(status: number, text: string): Answer {
  return { status, headers: { 'content-type': HTML }, body: text };
}

/** 401: the reports answer it without a body, the token service in its own form. */
export function unauthorized(call: Call, { title, detail }: TokenRefusal): Answer {
  if (call.endpoint.area === 'reports') return { status: 401, headers: {}, body: undefined };
  return gateProblem(call, 401, title, detail);
}

export function tooManyRequests(call: Call, retryAfter: string | undefined): Answer {
  const wait = /^\d+$/.test(retryAfter ?? '') ? retryAfter : '4';
  const answer = gateProblem(call, 429, 'Too Many Requests', `Too many requests, retry in ${wait} seconds.`);
  return retryAfter === undefined ? answer : { ...answer, headers: { ...answer.headers, 'retry-after': retryAfter } };
}

export function budgetHeaders(state: BudgetState): Record<string, string> {
  return {
    'x-ratelimit-limit': String(state.limit),
    'x-ratelimit-remaining': String(state.remaining),
    'x-ratelimit-reset': String(state.resetSeconds),
  };
}

/** The authentication service does not say that an address is banned: it is not there for it. */
export function banned(): Answer {
  return html(404, '<html><body><h1>404 Not Found</h1></body></html>');
}

function forbidden(call: Call): Answer {
  const detail = 'Account is not active, access denied. Please contact partnerservice if this is unexpected.';
  return gateProblem(call, 403, 'Forbidden', detail);
}

function statusAnswer(call: Call, status: number, retryAfter: string | undefined): Answer {
  switch (status) {
    case 401:
      if (call.endpoint.area === 'token') return { ...html(401, ''), body: '{"error":"invalid_client"}' };
      return unauthorized(call, { title: 'Invalid JWT', detail: 'The token is not accepted.' });
    case 403:
      return forbidden(call);
    case 404:
      return call.endpoint.area === 'token' ? banned() : notFound(call);
    case 429:
      return tooManyRequests(call, retryAfter);
    case 500:
      return html(500, 'Internal Server Error');
    case 502:
    case 503:
    case 504:
      return html(status, `<html><body><h1>${status} Service Temporarily Unavailable</h1></body></html>`);
    default:
      return problem(call, status, `Status ${status}`, 'A status that was ordered.');
  }
}

/** The answer under a refusal fault; undefined for a connection that is reset instead. */
export function refusalAnswer(call: Call, fault: RefusalFault): Answer | undefined {
  switch (fault.kind) {
    case 'status': {
      const answer = statusAnswer(call, fault.status, fault.retryAfter);
      if (fault.retryAfter === undefined) return answer;
      return { ...answer, headers: { ...answer.headers, 'retry-after': fault.retryAfter } };
    }
    case 'revoke-tokens':
      return unauthorized(call, { title: 'Invalid JWT', detail: 'The token was revoked.' });
    case 'html':
      return html(200, '<!DOCTYPE html><html><body><h1>We are doing maintenance</h1></body></html>');
    case 'garbage':
      return { status: 200, headers: { 'content-type': 'application/json' }, body: 'x{"access_token":' };
    case 'reset':
      return undefined;
  }
}
