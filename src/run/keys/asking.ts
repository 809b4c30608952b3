/** Asks look-ups: many calls at once, as many as the endpoint's budget allows, until the list or the night's budget is used up. */

import type { Pipeline } from '../../core/pipeline.ts';
import { receiveLookup } from '../../extract/lookup-answer.ts';
import type { Answer } from '../../partner/call.ts';
import { bulkCommissionCall, type CommissionQuestion, productCall } from '../../partner/lookups.ts';
import { askBatch, batchesOf, RefusalWatch, type RefusedQuestion } from '../../sources/batches.ts';
import { bodyText } from '../../sources/body.ts';
import { countRecords } from '../../sources/reader.ts';
import { refusalOf } from '../../sources/refusal.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import type { CommissionPlan, ProductPlan } from './lookup-plan.ts';
import { type NightCalls, withNightCalls } from './night-calls.ts';

/** Asks for commissions in batches. Answers lie in the raw store when this resolves. Errors are in the tally. */
export function askCommissions(session: Session, partners: Partners, plan: CommissionPlan): Promise<void> {
  const { pipeline, questions, callsAllowed } = plan;
  return withNightCalls(session, partners, pipeline, callsAllowed, async (calls) => {
    const { bulk, budget } = calls.partner.settings.retailer.commission;
    const watch = new RefusalWatch();
    const refused: RefusedQuestion<CommissionQuestion>[] = [];
    await calls.each(batchesOf(questions, bulk.eansPerRequest), budget.concurrency, async (batch) => {
      refused.push(...(await askBatch(batch, (some) => askBulk(calls, pipeline, some), watch)));
      return batch.length;
    });
    for (const { question, status, reason } of refused)
      session.context.log.warn(`the service refuses EAN ${question.ean}: ${reason}`, {
        pipeline: pipeline.name,
        status,
      });
  });
}

async function askBulk(calls: NightCalls, pipeline: Pipeline, questions: readonly CommissionQuestion[]) {
  const asked = questions.map(({ ean, condition, price }) => ({ ean, condition, price }));
  const { partner, place, signal } = calls;
  const consume = (answer: Answer) =>
    receiveLookup(answer, asked, (document) => countRecords(pipeline, document), place);
  const { status, body } = await calls.call(
    bulkCommissionCall(partner.settings, pipeline.name, questions, consume, signal),
  );
  if (status < 300) return { kind: 'answered' as const };
  const eans = questions.map(({ ean }) => ean);
  return { kind: 'refused' as const, ...refusalOf(status, bodyText(body), eans) };
}

/** Asks for products, a call each. Answers lie in the raw store when this resolves. Errors are in the tally. */
export function askProducts(session: Session, partners: Partners, plan: ProductPlan): Promise<void> {
  const { pipeline, questions, callsAllowed } = plan;
  const { include } = session.context.lookups.products;
  return withNightCalls(session, partners, pipeline, callsAllowed, async (calls) => {
    const { partner, place, signal } = calls;
    await calls.each(questions, partner.settings.catalog.product.budget.concurrency, async (question) => {
      const { country, language, ean } = question;
      const asked = { ean, country, language };
      const consume = (answer: Answer) =>
        receiveLookup(answer, asked, (document) => countRecords(pipeline, document), place);
      await calls.call(productCall(partner.settings, pipeline.name, question, include, consume, signal));
      return 1;
    });
  });
}
