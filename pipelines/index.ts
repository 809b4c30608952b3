/** Every pipeline, in the order in which they are fetched and shown; a part stands behind the pipeline that it is part of. */
import type { Pipeline } from '../src/core/pipeline.ts';
import { commissionRates, commissionReductions } from './commission-rates.ts';
import { commissions } from './commissions.ts';
import { orderHistory, orders } from './orders.ts';
import { processStatuses } from './process-statuses.ts';
import { products } from './products.ts';
import { promotions } from './promotions.ts';
import { pushLinks } from './push-links.ts';
import { pushDeliveries, pushMessages } from './push-messages.ts';
import { reductions, reductionsFiles } from './reductions.ts';
import { subscriptions } from './subscriptions.ts';

export const pipelines: readonly Pipeline[] = [
  promotions,
  orders,
  orderHistory,
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
];
