/** Asks for processes and follows links, as it was planned. Answers lie in the raw store when that is done. */
import { EtlError } from '../../core/errors.ts';
import { readingOf } from '../../core/pipeline.ts';
import { type ConsumedLookup, receiveAnything, receiveLookup, wholeAnswer } from '../../extract/lookup-answer.ts';
import { isAsked, processIn, processItems } from '../../extract/subscription-shapes.ts';
import type { Answer, Consumed } from '../../partner/call.ts';
import { linkCall, processStatusCall } from '../../partner/calls/subscriptions.ts';
import { type NightCalls, withNightCalls } from '../keys/night-calls.ts';
import type { Partners } from '../partners.ts';
import type { Session } from '../session.ts';
import type { ProcessQuestion } from './due.ts';
import type { FollowingPlan } from './plan.ts';

/** Asks what is planned. Errors are in the tally, and what the budget of calls leaves out. */
export async function askFollowing(session: Session, partners: Partners, plan: FollowingPlan): Promise<void> {
  const { pipeline } = plan;
  const leftOut = await withNightCalls(session, partners, pipeline, plan.callsAllowed, async (calls) => {
    const { concurrency } = calls.partner.settings.retailer.processStatus.budget;
    const processes = await calls.each(plan.processes, concurrency, async (question) => {
      await askProcess(calls, pipeline.name, question);
      return 1;
    });
    const links = await calls.each(plan.links, concurrency, async (question) => {
      const key = { ...question };
      const { mostBytes } = readingOf(pipeline);
      const consume = (answer: Answer) => receiveAnything(answer, key, mostBytes, calls.place);
      await calls.call(linkCall(calls.partner.settings, pipeline.name, question.href, consume, calls.signal));
      return 1;
    });
    return processes + links;
  });
  session.tally.leftOut += leftOut;
}

/** The link of a message leads to the process itself; where it leads to something else, the path in the settings counts. */
async function askProcess(calls: NightCalls, pipelineName: string, question: ProcessQuestion): Promise<void> {
  const { partner, place, signal } = calls;
  const { id, askedBy, href } = question;
  if (href !== null) {
    const consume = (answer: Answer) => receiveLinked(answer, question, place);
    if (await calls.call(linkCall(partner.settings, pipelineName, href, consume, signal))) return;
  }
  const consume = (answer: Answer) =>
    receiveLookup(answer, { askedBy, id }, (document) => processItems(document, id), place);
  await calls.call(processStatusCall(partner.settings, pipelineName, id, consume, signal));
}

/** Keeps an answer that tells of the process, and says so; nothing is learnt from any other. */
async function receiveLinked(
  answer: Answer,
  { id, askedBy }: ProcessQuestion,
  place: NightCalls['place'],
): Promise<Consumed<boolean>> {
  const { status } = answer;
  const { received, decoded } = await wholeAnswer(answer);
  const nothing = { value: false, bytesDecoded: decoded.length, sha256: null, rawPath: null, items: null };
  if (status >= 300) return nothing;
  try {
    const kept: ConsumedLookup = await receiveLookup(
      { ...answer, body: once(received) },
      { askedBy, id },
      (document) => {
        if (isAsked(processIn(document, id), id)) return 1;
        throw new EtlError('failed', 'other_process', 'the link leads to another process');
      },
      place,
    );
    return { ...kept, value: true };
  } catch (error) {
    if (!(error instanceof EtlError) || error.kind === 'bug') throw error;
    return nothing;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
