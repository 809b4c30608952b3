/**
 * Where a push goes. A subscription's url is public and https; the sandbox calls loopback alone. A route says where on
 * loopback what is meant for a url is sent instead, as a proxy that ends TLS would do, or a name server.
 */
import { EtlError } from '../../core/errors.ts';

export interface PushRoute {
  /** A url, an origin (everything below it), or `*` for every push. */
  readonly from: string;
  /** An http or https address on loopback. For an origin without a path here, the url's own path is kept. */
  readonly to: string;
  /** Sent as X-Forwarded-For, as a proxy would name the sender; no such header unless given. */
  readonly forwardedFor?: string;
}

/** Where to send what is meant for a url. */
export interface PushDestination {
  readonly to: URL;
  readonly forwardedFor: string | undefined;
}

const EVERY = '*';
const WEB: readonly string[] = ['http:', 'https:'];

/** 127.0.0.0/8, ::1 or localhost; `URL` has written every other form of these addresses in this one. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function isBare({ pathname, search }: URL): boolean {
  return pathname === '/' && search === '';
}

function refused(message: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_route', message, { hint });
}

function checkedRoute(route: PushRoute): PushRoute {
  const { from, to, forwardedFor } = route;
  if (from !== EVERY && !URL.canParse(from))
    throw refused(`from: "${from}" is no url`, 'a url, an origin, or * for every push');
  const target = URL.canParse(to) ? new URL(to) : undefined;
  if (target === undefined || !WEB.includes(target.protocol) || !isLoopback(target))
    throw refused(`to: "${to}" is no http or https address on loopback`, 'such as http://127.0.0.1:8421/push');
  if (forwardedFor !== undefined && !/^[\x20-\x7e]+$/.test(forwardedFor))
    throw refused('forwardedFor is no text for a header', 'an address, or several with commas between them');
  return route;
}

export class PushRoutes {
  readonly #byFrom = new Map<string, PushRoute>();

  /** Refuses (usage) routes that could never be gone. */
  constructor(routes: readonly PushRoute[]) {
    for (const route of routes) this.add(route);
  }

  /** Takes the place of the one from the same url. */
  add(route: PushRoute): void {
    const { from } = checkedRoute(route);
    this.#byFrom.set(from === EVERY ? EVERY : new URL(from).href, route);
  }

  /** The url's own route goes before that of its origin, and that before the one for every push. */
  destinationOf(url: string): PushDestination {
    const meant = new URL(url);
    const exact = this.#byFrom.get(meant.href);
    const route = exact ?? this.#byFrom.get(`${meant.origin}/`) ?? this.#byFrom.get(EVERY);
    if (route === undefined) return { to: meant, forwardedFor: undefined };
    const to = new URL(route.to);
    const ofOrigin = route.from !== EVERY && isBare(new URL(route.from));
    return {
      to: ofOrigin && isBare(to) ? new URL(`${meant.pathname}${meant.search}`, to) : to,
      forwardedFor: route.forwardedFor,
    };
  }
}
