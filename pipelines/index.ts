/**
 * Every pipeline, in the order in which they are fetched and shown; a child stands behind its parent. The history of one is
 * declared by itself and stands behind it.
 */
import { withHistories } from '../src/core/history.ts';
import type { Pipeline } from '../src/core/pipeline.ts';
import { commissionRates, commissionReductions } from './commission-rates.ts';
import { commissions } from './commissions.ts';
import { orders } from './orders.ts';
import { processStatuses } from './process-statuses.ts';
import { products } from './products.ts';
import { promotions } from './promotions.ts';
import { pushLinks } from './push-links.ts';
import { pushDeliveries, pushMessages } from './push-messages.ts';
import { reductions, reductionsFiles } from './reductions.ts';
import { subscriptions } from './subscriptions.ts';

export const pipelines: readonly Pipeline[] = withHistories([
  promotions,
  orders,
  commissions,
  products,
  commissionRates,
  commissionReductions,
  reductions,
  reductionsFiles,
  pushMessages,
  pushDeliveries,
  subscriptions,
  processStatuses,
  pushLinks,
]);
