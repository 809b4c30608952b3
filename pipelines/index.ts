/** Every pipeline, in the order in which they are fetched and shown; a part stands behind the pipeline that it is part of. */
import type { Pipeline } from '../src/core/pipeline.ts';
import {
  commissionRateHistory,
  commissionRates,
  commissionReductionHistory,
  commissionReductions,
} from './commission-rates.ts';
import { commissions } from './commissions.ts';
import { orderHistory, orders } from './orders.ts';
import { processStatuses, processStatusHistory } from './process-statuses.ts';
import { productHistory, products } from './products.ts';
import { promotions } from './promotions.ts';
import { pushLinkHistory, pushLinks } from './push-links.ts';
import { pushDeliveries, pushMessages } from './push-messages.ts';
import { reductionHistory, reductions, reductionsFiles } from './reductions.ts';
import { subscriptionHistory, subscriptions } from './subscriptions.ts';

export const pipelines: readonly Pipeline[] = [
  promotions,
  orders,
  orderHistory,
  commissions,
  products,
  productHistory,
  commissionRates,
  commissionReductions,
  commissionRateHistory,
  commissionReductionHistory,
  reductions,
  reductionsFiles,
  reductionHistory,
  pushMessages,
  pushDeliveries,
  subscriptions,
  subscriptionHistory,
  processStatuses,
  processStatusHistory,
  pushLinks,
  pushLinkHistory,
];
