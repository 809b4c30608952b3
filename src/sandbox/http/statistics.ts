/** What was asked of the sandbox, counted. */
import type { EndpointName } from './endpoints.ts';
import type { BudgetName } from './limits.ts';

export interface SandboxStats {
  /** By endpoint, every call that reached it, whatever came of it. */
  readonly calls: Readonly<Record<string, number>>;
  readonly tokenRequests: number;
  /** By status; a connection that was reset has none. */
  readonly statuses: Readonly<Record<string, number>>;
  /** By budget, calls that were answered 429 because it was used up; a 429 that was ordered as a fault is none of them. */
  readonly overBudget: Readonly<Record<string, number>>;
  /** What broke inside the sandbox itself; there is nothing in it unless the sandbox has a bug. */
  readonly failures: readonly string[];
  reset(): void;
}

export class Statistics implements SandboxStats {
  calls: Record<string, number> = {};
  tokenRequests = 0;
  statuses: Record<string, number> = {};
  overBudget: Record<string, number> = {};
  failures: string[] = [];

  countCall(endpoint: EndpointName): void {
    this.calls[endpoint] = (this.calls[endpoint] ?? 0) + 1;
  }

  countTokenRequest(): void {
    this.tokenRequests++;
  }

  countStatus(status: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  countOverBudget(budget: BudgetName): void {
    this.overBudget[budget] = (this.overBudget[budget] ?? 0) + 1;
  }

  countFailure(thrown: unknown): void {
    this.failures.push(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
  }

  reset(): void {
    this.calls = {};
    this.tokenRequests = 0;
    this.statuses = {};
    this.overBudget = {};
    this.failures = [];
  }
}
