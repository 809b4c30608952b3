/** What the service is known to bear: a budget above it would lead to refusals or a ban. */
import { isHere } from './address.ts';
import type { Settings } from './schema/settings.ts';

interface Budget {
  readonly calls: number;
  readonly perSeconds: number;
}

interface Ceiling extends Budget {
  readonly path: string;
  readonly said: string;
}

const HOURLY = { calls: 10, perSeconds: 3600, said: '10 calls in 3600 seconds' };

const CEILINGS: readonly Ceiling[] = [
  {
    path: 'service.retailer.processStatus.budget',
    ...{ calls: 100, perSeconds: 1, said: '100 calls a second' },
  },
  {
    path: 'service.retailer.commission.budget',
    ...{ calls: 28, perSeconds: 1, said: '28 calls a second' },
  },
  { path: 'service.retailer.reductions.budget', ...HOURLY },
  { path: 'service.retailer.reductionsName.budget', ...HOURLY },
];

export interface AboveCeiling {
  readonly path: readonly string[];
  readonly accepted: string;
}

/** The budgets above what the service bears. A service on this machine is a sandbox, which may be driven harder. */
export function aboveCeilings(settings: Settings, baseUrl: string | null): AboveCeiling[] {
  if (baseUrl !== null && isHere(baseUrl)) return [];
  return CEILINGS.flatMap((ceiling) => {
    const path = ceiling.path.split('.');
    const budget = path.reduce<unknown>((found, key) => (found as Readonly<Record<string, unknown>>)?.[key], settings);
    const isTooMuch = budget !== undefined && isAbove(budget as Budget, ceiling);
    return isTooMuch ? { path, accepted: `a budget of at most ${ceiling.said}` } : [];
  });
}

function isAbove(budget: Budget, ceiling: Ceiling): boolean {
  return budget.calls > ceiling.calls || budget.calls * ceiling.perSeconds > ceiling.calls * budget.perSeconds;
}
