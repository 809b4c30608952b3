/** Asks look-ups by EAN: many calls at once, as many as the endpoint's budget allows, until the list or the night's budget is used up. */
import { receiveLookup } from '../../extract/lookup-answer.ts';
import type { Answer } from '../../partner/call.ts';
import { keysCall, keysRequest } from '../../partner/calls/lookups.ts';
import { callOf } from '../../partner/settings.ts';
import { type AskOutcome, askBatch, Batches, RefusalWatch } from '../../sources/batches.ts';
import { bodyText } from '../../sources/body.ts';
import { countRecords } from '../../sources/reader.ts';
import { refusalOf } from '../../sources/refusal.ts';
import type { JsonValue } from '../../store/raw/gather.ts';
import { settingsOf } from '../context.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import { type EanKey, type EanPlan, keysIn } from './lookup-plan.ts';
import { type NightCalls, withNightCalls } from './night-calls.ts';

/** Asks for keys one a call, or in batches. Answers lie in the raw store when this resolves. Errors are in the tally. */
export function askEans(session: Session, partners: Partners, plan: EanPlan): Promise<void> {
  const { pipeline, callsAllowed } = plan;
  return withNightCalls(session, partners, pipeline, callsAllowed, (calls) => askWith(calls, session, plan));
}

async function askWith(
  calls: NightCalls,
  session: Session,
  { pipeline, keysFile, keysPerCall }: EanPlan,
): Promise<void> {
  const { partner, place, signal } = calls;
  const { calls: declared } = partner.settings;
  const settings = settingsOf<unknown>(session.context, pipeline);
  const ask = (some: readonly EanKey[], asked: JsonValue) =>
    calls.call(
      keysCall(
        declared,
        pipeline,
        keysRequest(declared, pipeline, some, settings),
        (answer: Answer) => receiveLookup(answer, asked, (document) => countRecords(pipeline, document), place),
        signal,
      ),
    );
  const { concurrency } = callOf(declared, pipeline).budget;
  if (keysPerCall === 1) {
    await calls.each(oneByOne(keysIn(keysFile)), concurrency, async (key) => {
      await ask([key], key);
      return 1;
    });
    return;
  }
  const watch = new RefusalWatch();
  const askSome = async (some: readonly EanKey[]): Promise<AskOutcome> => {
    const { status, body } = await ask(some, some);
    if (status < 300) return { kind: 'answered' };
    const eans = some.map(({ ean }) => ean);
    return { kind: 'refused', ...refusalOf(status, bodyText(body), eans) };
  };
  await calls.each(inBatches(keysIn(keysFile), keysPerCall), concurrency, async (batch) => {
    for (const { question, status, reason } of await askBatch(batch, askSome, watch))
      session.context.log.warn(`the service refuses EAN ${question.ean}: ${reason}`, {
        pipeline: pipeline.name,
        status,
      });
    return batch.length;
  });
}

async function* oneByOne<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page;
}

async function* inBatches(pages: AsyncIterable<readonly EanKey[]>, size: number): AsyncGenerator<EanKey[]> {
  const batches = new Batches<EanKey>(size);
  for await (const page of pages) yield* batches.take(page);
  yield* batches.rest();
}
