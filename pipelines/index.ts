/** Every pipeline, in the order in which they are fetched and shown. */
import type { Pipeline } from '../src/core/pipeline.ts';
import { commissions } from './commissions.ts';
import { orders } from './orders.ts';
import { promotions } from './promotions.ts';

export const pipelines: readonly Pipeline[] = [promotions, orders, commissions];
