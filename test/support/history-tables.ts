/** The tables of what rows were, for tests that make rows of them. */
import { pipelines } from '../../pipelines/index.ts';
import type { Pipeline } from '../../src/core/pipeline.ts';

export const orderHistory = named('orders-history');
export const commissionRateHistory = named('commission-rates-history');
export const reductionHistory = named('reductions-history');
export const subscriptionHistory = named('subscriptions-history');
export const processStatusHistory = named('process-statuses-history');

function named(name: string): Pipeline {
  const found = pipelines.find((one) => one.name === name);
  if (!found) throw new Error(`${name} is no pipeline`);
  return found;
}
