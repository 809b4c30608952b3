/** Asks look-ups: many calls at once, as many as the endpoint's budget allows, until the list or the night's budget is used up. */

import { receiveLookup } from '../extract/lookup-answer.ts';
import { bulkCommissionCall, type CommissionQuestion, type ProductQuestion, productCall } from '../partner/lookups.ts';
import { askBatch, batchesOf, RefusalWatch, type RefusedQuestion } from '../sources/batches.ts';
import { bodyText } from '../sources/body.ts';
import { countRecords } from '../sources/reader.ts';
import { refusalOf } from '../sources/refusal.ts';
import type { LookupPlan } from './lookup-plan.ts';
import { type NightCalls, withNightCalls } from './night-calls.ts';
import type { Partners } from './partners.ts';
import type { Session } from './session.ts';

/** Asks what is planned; answers lie in the vault when this resolves. Errors are in the tally. */
export async function askLookups(session: Session, partners: Partners, plan: LookupPlan): Promise<void> {
  const { pipeline } = plan;
  await withNightCalls(session, partners, pipeline, plan.callsAllowed, async (calls) => {
    const asking = new Asking(session, plan, calls);
    if (pipeline.source.kind === 'lookup' && pipeline.source.lookup === 'commission') await asking.commissions();
    else await asking.products();
  });
}

class Asking {
  private readonly session: Session;
  private readonly plan: LookupPlan;
  private readonly calls: NightCalls;

  constructor(session: Session, plan: LookupPlan, calls: NightCalls) {
    this.session = session;
    this.plan = plan;
    this.calls = calls;
  }

  async commissions(): Promise<void> {
    const { bulk, budget } = this.calls.partner.settings.retailer.commission;
    const watch = new RefusalWatch();
    const refused: RefusedQuestion<CommissionQuestion>[] = [];
    await this.calls.each(batchesOf(this.plan.commission, bulk.eansPerRequest), budget.concurrency, async (batch) => {
      refused.push(...(await askBatch(batch, (questions) => this.askCommission(questions), watch)));
      return batch.length;
    });
    for (const { question, status, reason } of refused)
      this.session.context.log.warn(`the service refuses EAN ${question.ean}: ${reason}`, {
        pipeline: this.plan.pipeline.name,
        status,
      });
  }

  async products(): Promise<void> {
    const { concurrency } = this.calls.partner.settings.catalog.product.budget;
    await this.calls.each(this.plan.product, concurrency, async (question) => {
      await this.askProduct(question);
      return 1;
    });
  }

  private async askCommission(questions: readonly CommissionQuestion[]) {
    const asked = questions.map(({ ean, condition, price }) => ({ ean, condition, price }));
    const { partner, place, signal } = this.calls;
    const call = bulkCommissionCall(
      partner.settings,
      this.plan.pipeline.name,
      questions,
      (answer) => receiveLookup(answer, asked, (document) => countRecords(this.plan.pipeline, document), place),
      signal,
    );
    const { status, body } = await this.calls.call(call);
    if (status < 300) return { kind: 'answered' as const };
    const eans = questions.map(({ ean }) => ean);
    return { kind: 'refused' as const, ...refusalOf(status, bodyText(body), eans) };
  }

  private async askProduct(question: ProductQuestion): Promise<void> {
    const { country, language, ean } = question;
    const { include } = this.session.context.lookups.products;
    const { partner, place, signal } = this.calls;
    const call = productCall(
      partner.settings,
      this.plan.pipeline.name,
      question,
      include,
      (answer) =>
        receiveLookup(
          answer,
          { ean, country, language },
          (document) => countRecords(this.plan.pipeline, document),
          place,
        ),
      signal,
    );
    await this.calls.call(call);
  }
}
