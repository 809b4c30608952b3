/**
 * Who may see the page, and whose requests are heard.
 *
 *   on loopback     every reader of this machine; but only by a name of this machine, since a foreign page whose name was made to lead here
 *                   (DNS rebinding) could read everything
 *   elsewhere       who is signed in; under /api also who sends the token with each request
 *   acting          who is signed in, with a form of the page: its csrf value, and no sign of another site
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../source-address.ts';
import { isSame, type Session, type Sessions } from './sessions.ts';

export interface GateOptions {
  /** Where it listens. */
  readonly host: string;
  readonly sessions: Sessions;
}

/** Why a request is not heard. */
export interface Refused {
  readonly status: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 500;
  /** For programs. */
  readonly code: string;
  readonly title: string;
  readonly hint: string | null;
}

export const NO_TOKEN: Refused = {
  status: 403,
  code: 'no_token_set',
  title: 'The status page is closed here',
  hint: 'It listens where others can reach it, and no token is set. Set PARTNER_ETL_PAGE_TOKEN (or PARTNER_ETL_PAGE_TOKEN_FILE) to at least 16 characters where serve runs and start it again, or let serve.host be 127.0.0.1.',
};
const FOREIGN_HOST: Refused = {
  status: 403,
  code: 'foreign_host',
  title: 'This name does not lead here',
  hint: 'Open the page by localhost or 127.0.0.1: it listens for this machine alone.',
};
const SIGNED_OUT: Refused = {
  status: 401,
  code: 'signed_out',
  title: 'You are not signed in',
  hint: 'Sign in with the token of the page; programs send it as Authorization: Bearer.',
};
const FOREIGN_FORM: Refused = {
  status: 403,
  code: 'foreign_form',
  title: 'This form did not come from the page',
  hint: 'Open the page again and repeat what you did. A proxy in between must leave the Host header as it is.',
};
export const TOO_MANY: Refused = {
  status: 429,
  code: 'too_many_tries',
  title: 'Too many wrong tokens from your address',
  hint: 'Wait for a minute.',
};

/** Only what is ours: no script, style, image or connection from elsewhere, and no foreign page around it. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Says nothing to other sites. Not `no-referrer`: with it browsers hide the Origin of our own forms as well. */
const REFERRER = 'same-origin';

export function setHeaders(reply: FastifyReply): void {
  reply.header('content-security-policy', CSP).header('referrer-policy', REFERRER);
  reply.header('cross-origin-opener-policy', 'same-origin').header('cross-origin-resource-policy', 'same-origin');
}

export class Gate {
  private readonly isLocal: boolean;
  private readonly sessions: Sessions;

  constructor({ host, sessions }: GateOptions) {
    this.isLocal = isLoopback(host);
    this.sessions = sessions;
  }

  /** Whether the request names a host that it may; null when it does. */
  refusesHost({ headers }: FastifyRequest): Refused | null {
    return this.isLocal && !isNameOfThisMachine(headers.host) ? FOREIGN_HOST : null;
  }

  /** Whether it may read; null when it may. */
  refusesReader(request: FastifyRequest): Refused | null {
    if (this.isLocal || this.sessionOf(request)) return null;
    if (!this.sessions.hasToken) return NO_TOKEN;
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (token === undefined || !isApi(request)) return SIGNED_OUT;
    const verdict = this.sessions.try(token, request.ip);
    return verdict === 'right' ? null : verdict === 'wrong' ? SIGNED_OUT : TOO_MANY;
  }

  /** Whether what is posted comes from another site, as far as browsers say. */
  refusesOrigin({ headers }: FastifyRequest): Refused | null {
    const { origin, host, 'sec-fetch-site': site } = headers;
    if (site !== undefined && site !== 'same-origin') return FOREIGN_FORM;
    const from = origin === undefined ? host : URL.canParse(origin) ? new URL(origin).host : null;
    return from !== undefined && from === host ? null : FOREIGN_FORM;
  }

  /** The session that acts, or why it may not. */
  actor(request: FastifyRequest, csrf: string | null): Session | Refused {
    const session = this.sessionOf(request);
    if (!session) return SIGNED_OUT;
    return isSame(csrf ?? '', session.csrf) ? session : FOREIGN_FORM;
  }

  sessionOf({ headers }: FastifyRequest): Session | null {
    return this.sessions.of(headers.cookie);
  }
}

export function isApi({ raw }: FastifyRequest): boolean {
  return raw.url?.startsWith('/api/') ?? false;
}

/** Of a Host header, with any port. */
function isNameOfThisMachine(host: string | undefined): boolean {
  if (host === undefined || !/^[a-z0-9.:[\]-]+$/i.test(host) || !URL.canParse(`http://${host}`)) return false;
  return isLoopback(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, ''));
}
