/** How a sandbox is set up, and what it is set to where nothing is told. */
import { type Day, parseDay } from '../core/days.ts';
import { EtlError } from '../core/errors.ts';
import type { CommissionSettings } from './commissions.ts';
import { uuidLike } from './hash.ts';
import type { SandboxLimits } from './limits.ts';

export interface SandboxOptions {
  /** The same seed is the same world. */
  readonly seed: number;
  /** Order items a day, about: 50 to 1,000,000. */
  readonly ordersPerDay: number;
  /** The sandbox's clock, milliseconds since the epoch. */
  readonly now: () => number;
  /** There are no orders before it; 2020-01-01 unless told. */
  readonly firstDay?: Day;
  /** Always on 127.0.0.1; any free port unless told. */
  readonly port?: number;
  readonly tokenTtlSeconds?: number;
  /** Made from the seed unless told. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly limits?: SandboxLimits;
  /** Answer as gzip when asked to; true unless told. */
  readonly gzip?: boolean;
  /** What a bulk commission request with an unknown EAN comes to; `refuse` (400) unless told. */
  readonly unknownEan?: CommissionSettings['unknownEan'];
  /** EANs that have commissions and reductions beyond the catalogue; 480,000 make a reductions file of 13 MB. */
  readonly seriesLength?: number;
  /** How long a process stays pending. */
  readonly processSeconds?: number;
}

export type SandboxSettings = Required<SandboxOptions>;

/** What the service says of its tokens for client credentials. */
const TOKEN_TTL_SECONDS = 299;

/** The options with what stands for those that were not told; refuses (usage) what cannot be. */
export function settingsOf(options: SandboxOptions): SandboxSettings {
  const { seed, ordersPerDay } = options;
  if (!(ordersPerDay >= 1 && ordersPerDay <= 1_000_000))
    throw new EtlError('usage', 'bad_sandbox', `ordersPerDay: ${ordersPerDay} is not from 1 to 1,000,000`);
  return {
    firstDay: parseDay('2020-01-01'),
    port: 0,
    tokenTtlSeconds: TOKEN_TTL_SECONDS,
    clientId: uuidLike(seed, 1),
    clientSecret: `${uuidLike(seed, 2)}${uuidLike(seed, 3)}`.replaceAll('-', ''),
    limits: {},
    gzip: true,
    unknownEan: 'refuse',
    seriesLength: 5000,
    processSeconds: 3,
    ...options,
  };
}
