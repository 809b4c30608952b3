/** What the scripts in JavaScript share: a day's report by fetch, JSON.parse and zod, as their authors would write it. */
import { z } from 'zod';
import { addDays, type Day } from '../../../../src/core/days.ts';
import { askOrders, askToken } from './service.ts';

const text = z.string().nullish();

const Report = z.object({
  items: z.array(
    z.object({
      orderDate: z.string(),
      orderDateTime: text,
      orderId: z.string(),
      orderItemId: z.string(),
      productTitle: text,
      productId: text,
      chunkName: text,
      siteName: text,
      siteCode: text,
      frameType: text,
      name: text,
      subId: text,
      status: text,
      quantity: z.number(),
      priceExclVat: z.number(),
      priceInclVat: z.number(),
      commissionPercentage: z.number(),
      commission: z.number(),
      statusFinal: z.boolean(),
      approvedForPayment: z.boolean(),
    }),
  ),
});

export type Item = z.infer<typeof Report>['items'][number];

/** A day at a time, so that no answer is larger than a text of JavaScript can be. */
export async function* dayByDay(from: Day, to: Day): AsyncGenerator<{ readonly day: Day; readonly items: Item[] }> {
  const token = await askToken(process.env);
  for (let day = from; day <= to; day = addDays(day, 1)) {
    const answer = await askOrders(process.env, token, day, day);
    yield { day, items: Report.parse(await answer.json()).items };
  }
}
