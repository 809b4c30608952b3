/**
 * Budgets of calls, in fixed windows of the sandbox's clock, and the ban of those who ask for too many tokens.
 * The numbers that are known are those of open-points.md, "Errors, tokens, limits".
 */
import type { EndpointName } from './endpoints.ts';

export interface CallBudget {
  readonly calls: number;
  readonly seconds: number;
}

export type BudgetName =
  | 'product'
  | 'reports'
  | 'commission'
  | 'reductions'
  | 'reductions-latest'
  | 'process-status'
  | 'process-status-list'
  | 'shipments'
  | 'subscriptions';

export interface TokenBudget {
  /** Token requests allowed within `seconds`; one more bans the address for `banSeconds`. */
  readonly requests: number;
  readonly seconds: number;
  readonly banSeconds: number;
}

export interface SandboxLimits {
  readonly calls?: Partial<Readonly<Record<BudgetName, CallBudget>>>;
  readonly tokens?: TokenBudget;
}

const CALLS: Readonly<Record<BudgetName, CallBudget>> = {
  product: { calls: 10, seconds: 1 },
  reports: { calls: 1000, seconds: 1 },
  // Single and bulk together.
  commission: { calls: 28, seconds: 1 },
  reductions: { calls: 10, seconds: 3600 },
  'reductions-latest': { calls: 10, seconds: 3600 },
  'process-status': { calls: 100, seconds: 1 },
  'process-status-list': { calls: 2, seconds: 1 },
  // Not known; as many as of the process statuses, which push messages link to as well.
  shipments: { calls: 100, seconds: 1 },
  subscriptions: { calls: 50, seconds: 1 },
};

const TOKENS: TokenBudget = { requests: 20, seconds: 60, banSeconds: 900 };

function budgetOf(endpoint: Exclude<EndpointName, 'token'>): BudgetName {
  switch (endpoint) {
    case 'promotions':
    case 'orders':
    case 'commissions':
      return 'reports';
    case 'commission':
    case 'commission-bulk':
      return 'commission';
    case 'product':
    case 'reductions':
    case 'reductions-latest':
    case 'process-status':
    case 'process-status-list':
      return endpoint;
    case 'shipment':
      return 'shipments';
    default:
      return 'subscriptions';
  }
}

/** What a call learns about its budget. */
export interface BudgetState {
  readonly budget: BudgetName;
  readonly limit: number;
  readonly remaining: number;
  /** End of the window, seconds since the epoch. */
  readonly resetSeconds: number;
  /** Seconds to wait; undefined when the call may pass. */
  readonly retryAfterSeconds: number | undefined;
}

export class CallLimits {
  readonly #budgets: Readonly<Record<BudgetName, CallBudget>>;
  readonly #used = new Map<BudgetName, { window: number; calls: number }>();

  constructor(limits: SandboxLimits) {
    this.#budgets = { ...CALLS, ...limits.calls };
  }

  /** Counts a call against its budget. */
  take(endpoint: Exclude<EndpointName, 'token'>, now: number): BudgetState {
    const budget = budgetOf(endpoint);
    const { calls: limit, seconds } = this.#budgets[budget];
    const window = Math.floor(now / 1000 / seconds);
    const known = this.#used.get(budget);
    const used = known?.window === window ? known : { window, calls: 0 };
    const resetSeconds = (window + 1) * seconds;
    const over = used.calls >= limit;
    if (!over) used.calls++;
    this.#used.set(budget, used);
    const retryAfterSeconds = over ? Math.max(1, Math.ceil(resetSeconds - now / 1000)) : undefined;
    return { budget, limit, remaining: limit - used.calls, resetSeconds, retryAfterSeconds };
  }
}

/** Every token request counts, whatever comes of it; a ban passes by itself and is not made longer by asking. */
export class TokenBan {
  readonly #budget: TokenBudget;
  #requests: number[] = [];
  #bannedUntil = Number.NEGATIVE_INFINITY;

  constructor(limits: SandboxLimits) {
    this.#budget = limits.tokens ?? TOKENS;
  }

  /** Counts a token request; true when the address is banned. */
  refuses(now: number): boolean {
    if (now < this.#bannedUntil) return true;
    const { requests, seconds, banSeconds } = this.#budget;
    this.#requests = [...this.#requests.filter((at) => at > now - seconds * 1000), now];
    if (this.#requests.length <= requests) return false;
    this.#bannedUntil = now + banSeconds * 1000;
    this.#requests = [];
    return true;
  }
}
