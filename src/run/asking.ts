/** Asks look-ups: many calls at once, as many as the endpoint's budget allows, until the list or the night's budget is used up. */
import { asEtlError, EtlError } from '../core/errors.ts';
import { askBatch, batchesOf, RefusalWatch, type RefusedQuestion } from '../extract/batches.ts';
import { commissionItems } from '../extract/commission-lines.ts';
import { bodyText, type ReceivedLookup, receiveLookup } from '../extract/lookup-answer.ts';
import { PackWriter } from '../extract/pack.ts';
import { productItems } from '../extract/product-lines.ts';
import { refusalOf } from '../extract/refusal.ts';
import { bulkCommissionCall, type CommissionQuestion, type ProductQuestion, productCall } from '../partner/lookups.ts';
import type { Partner } from './context.ts';
import type { LookupPlan } from './lookup-plan.ts';
import { ManyCalls } from './many-calls.ts';
import type { Partners } from './partners.ts';
import type { Session } from './session.ts';

/** Asks what is planned; answers lie in the vault when this resolves. Errors are in the tally. */
export async function askLookups(session: Session, partners: Partners, plan: LookupPlan): Promise<void> {
  const { context, ledger } = session;
  const { pipeline } = plan;
  const partner = await partners.of(pipeline);
  const month = ledger.record.started_at.slice(0, 7);
  const pack = PackWriter.open(context.vault, pipeline.name, ledger.runId, month, context.clock);
  await partners.packing(pipeline, pack, async () => {
    const asking = new Asking(session, partner, plan, pack);
    try {
      if (pipeline.source.kind === 'lookup' && pipeline.source.lookup === 'commission') await asking.commissions();
      else await asking.products();
    } finally {
      asking.calls.end();
    }
  });
}

class Asking {
  private readonly session: Session;
  private readonly partner: Partner;
  private readonly plan: LookupPlan;
  private readonly pack: PackWriter;
  readonly calls: ManyCalls;
  private callsLeft: number;

  constructor(session: Session, partner: Partner, plan: LookupPlan, pack: PackWriter) {
    this.session = session;
    this.partner = partner;
    this.plan = plan;
    this.pack = pack;
    this.calls = new ManyCalls(session.context.signal);
    this.callsLeft = plan.callsAllowed;
  }

  async commissions(): Promise<void> {
    const { bulk, budget } = this.partner.settings.retailer.commission;
    const watch = new RefusalWatch();
    const refused: RefusedQuestion[] = [];
    await this.each(batchesOf(this.plan.commission, bulk.eansPerRequest), budget.concurrency, async (batch) => {
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
    const { concurrency } = this.partner.settings.catalog.product.budget;
    await this.each(this.plan.product, concurrency, async (question) => {
      await this.askProduct(question);
      return 1;
    });
  }

  private async askCommission(questions: readonly CommissionQuestion[]) {
    const asked = questions.map(({ ean, condition, price }) => ({ ean, condition, price }));
    const { name } = this.plan.pipeline;
    const call = bulkCommissionCall(
      this.partner.settings,
      name,
      questions,
      (answer) => receiveLookup(answer, asked, commissionItems, this.place()),
      this.calls.signal,
    );
    const { status, body } = await this.call(call);
    if (status < 300) return { kind: 'answered' as const };
    const eans = questions.map(({ ean }) => ean);
    return { kind: 'refused' as const, ...refusalOf(status, bodyText(body), eans) };
  }

  private async askProduct(question: ProductQuestion): Promise<void> {
    const { country, language, ean } = question;
    const { include } = this.session.context.lookups.products;
    const call = productCall(
      this.partner.settings,
      this.plan.pipeline.name,
      question,
      include,
      (answer) => receiveLookup(answer, { ean, country, language }, productItems, this.place()),
      this.calls.signal,
    );
    await this.call(call);
  }

  private place() {
    return { pipeline: this.plan.pipeline.name, vault: this.session.context.vault, pack: this.pack };
  }

  private async call(call: Parameters<Partner['client']['call']>[0]): Promise<ReceivedLookup> {
    if (this.callsLeft <= 0) throw new EtlError('failed', OUT_OF_CALLS, "the night's budget of calls is used up");
    this.callsLeft -= 1;
    const { value } = await this.partner.client.call(call);
    return value as ReceivedLookup;
  }

  /** Works on each of the units, `concurrency` at once; `work` returns how many things it asked for. */
  private async each<T>(units: Iterable<T>, concurrency: number, work: (unit: T) => Promise<number>): Promise<void> {
    const { context, tally } = this.session;
    const { name } = this.plan.pipeline;
    const ask = async (unit: T) => {
      if (this.callsLeft <= 0) return;
      try {
        const rows = await work(unit);
        context.progress.window(name, { from: '', to: '', rows, changed: 0 });
        await context.step('answer-received', name);
      } catch (thrown) {
        if (asEtlError(thrown).code !== OUT_OF_CALLS) throw thrown;
      }
    };
    await this.calls.each(units, concurrency, ask, (error, _, isLast) => {
      tally.errors.push(error.about({ pipeline: name }));
      if (isLast) context.progress.note(`${name}: given up, the rest waits for the next run`);
    });
  }
}

/** Only ever told to ourselves. */
const OUT_OF_CALLS = 'out_of_calls';
