/** How a sandbox is set up, and what it is set to where nothing is given. */
import { type Day, parseDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import { UNKNOWN_EAN_STATUSES, UNKNOWN_EAN_WAYS, type UnknownEan } from './catalogue/retailer.ts';
import { uuidLike } from './hash.ts';
import type { SandboxLimits } from './http/limits.ts';
import type { Pace } from './push/delivery-queue.ts';
import type { PushRoute } from './push/routes.ts';
import { URL_TAKEN_WAYS, type UrlTaken } from './push/subscriptions.ts';

export interface SandboxOptions {
  /** The same seed is the same world. */
  readonly seed: number;
  /** Order items a day, about: 50 to 1,000,000. */
  readonly ordersPerDay: number;
  /** The sandbox's clock, milliseconds since the epoch. */
  readonly now: () => number;
  /** There are no orders before it; 2020-01-01 unless given. */
  readonly firstDay?: Day;
  /** Always on 127.0.0.1; any free port unless given. */
  readonly port?: number;
  readonly tokenTtlSeconds?: number;
  /** Made from the seed unless given. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly limits?: SandboxLimits;
  /** Answer as gzip when asked to; true unless given. */
  readonly gzip?: boolean;
  /** What a bulk commission request with an unknown EAN comes to: `refuse` unless given, with status 400 unless given. */
  readonly unknownEan?: UnknownEan['as'];
  readonly unknownEanStatus?: UnknownEan['status'];
  /** EANs that have commissions and reductions beyond the catalogue; 480,000 make a reductions file of 13 MB. */
  readonly seriesLength?: number;
  /** How long a process stays pending. */
  readonly processSeconds?: number;
  /** How a second subscription for a url is refused; `process` unless given. */
  readonly urlTaken?: UrlTaken;
  /** Where on loopback pushes are sent that are meant for public urls. */
  readonly pushRoutes?: readonly PushRoute[];
  /** How long a receiver may take to answer, in real time; 5,000 ms unless given. */
  readonly pushTimeoutMs?: number;
  /** Delivers what is due by itself; null, which it is unless given: only by hand (`deliverDue`). */
  readonly deliver?: Pace | null;
}

export type SandboxSettings = Required<SandboxOptions>;

/** What the service says of its tokens for client credentials. */
const TOKEN_TTL_SECONDS = 299;

/** Within it any 2xx counts as delivered. */
const PUSH_TIMEOUT_MS = 5000;

/** EANs of the series have nine digits for their number; the file would have gigabytes long before. */
const LONGEST_SERIES = 10_000_000;

function badOption(message: string): EtlError {
  return new EtlError('usage', 'bad_sandbox', message);
}

function checkDelivery({ pushTimeoutMs = PUSH_TIMEOUT_MS, deliver }: SandboxOptions): void {
  if (!(pushTimeoutMs >= 1)) throw badOption(`pushTimeoutMs: ${pushTimeoutMs} is not 1 or more`);
  if (!deliver) return;
  const { everyMs, concurrency = 1 } = deliver;
  if (!(everyMs >= 1)) throw badOption(`deliver: everyMs ${everyMs} is not 1 or more`);
  if (!(concurrency >= 1)) throw badOption(`deliver: concurrency ${concurrency} is not 1 or more`);
}

/** The options with what stands for those that were not given; refuses (usage) what cannot be. */
export function settingsOf(options: SandboxOptions): SandboxSettings {
  const { seed, ordersPerDay, unknownEan, unknownEanStatus, seriesLength, urlTaken } = options;
  if (!(ordersPerDay >= 1 && ordersPerDay <= 1_000_000))
    throw badOption(`ordersPerDay: ${ordersPerDay} is not from 1 to 1,000,000`);
  if (unknownEan !== undefined && !UNKNOWN_EAN_WAYS.includes(unknownEan))
    throw badOption(`unknownEan: "${unknownEan}" is none of ${UNKNOWN_EAN_WAYS.join(', ')}`);
  if (unknownEanStatus !== undefined && !UNKNOWN_EAN_STATUSES.includes(unknownEanStatus))
    throw badOption(`unknownEanStatus: ${unknownEanStatus} is none of ${UNKNOWN_EAN_STATUSES.join(', ')}`);
  if (seriesLength !== undefined && !(seriesLength >= 0 && seriesLength <= LONGEST_SERIES))
    throw badOption(`seriesLength: ${seriesLength} is not from 0 to ${LONGEST_SERIES}`);
  if (urlTaken !== undefined && !URL_TAKEN_WAYS.includes(urlTaken))
    throw badOption(`urlTaken: "${urlTaken}" is none of ${URL_TAKEN_WAYS.join(', ')}`);
  checkDelivery(options);
  return {
    firstDay: parseDay('2020-01-01'),
    port: 0,
    tokenTtlSeconds: TOKEN_TTL_SECONDS,
    clientId: uuidLike(seed, 1),
    clientSecret: `${uuidLike(seed, 2)}${uuidLike(seed, 3)}`.replaceAll('-', ''),
    limits: {},
    gzip: true,
    unknownEan: 'refuse',
    unknownEanStatus: 400,
    seriesLength: 5000,
    processSeconds: 3,
    urlTaken: 'process',
    pushRoutes: [],
    pushTimeoutMs: PUSH_TIMEOUT_MS,
    deliver: null,
    ...options,
  };
}
