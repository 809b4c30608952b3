/**
 * The list of push subscriptions → lines of the pipeline subscriptions, one for each that is listed.
 *
 * Either all of it can be read or nothing counts: what is not on the list is gone, so one that was left out as unreadable
 * would be taken for removed.
 */
import { EtlError } from '../core/errors.ts';
import { type ExactDocument, exactText } from '../core/exact-json.ts';
import { LIMITS } from '../core/limits.ts';
import type { DriftRecord } from '../core/records.ts';
import { isPathId } from '../partner/subscriptions.ts';
import { documentOf, isSoundUtf8, type LookupAnswer } from './lookup-answer.ts';
import { parseSubscriptions, type Subscription } from './subscription-shapes.ts';
import { DriftCounts, Line, type LineFile, LineSink, toldBy } from './told-lines.ts';
import { ValueTaker } from './told-values.ts';

const SUBSCRIPTIONS = 'subscriptions';

export interface SubscriptionFile {
  readonly subscriptions: LineFile;
  readonly drift: readonly DriftRecord[];
}

/** How many are listed. Errors: those of `parseSubscriptions`, `failed/answer_too_large`, `failed/bad_id`. */
export function subscriptionItems(document: ExactDocument): number {
  return listedIn(document).length;
}

/**
 * Writes the lines of a list into a folder that is there; `timeZone` is the service's. Errors: `failed/not_json`, and those of
 * `subscriptionItems`.
 */
export async function subscriptionLines(
  { fetch, body }: Pick<LookupAnswer, 'fetch' | 'body'>,
  folder: string,
  timeZone: string,
): Promise<SubscriptionFile> {
  const document = documentOf(body);
  const listed = listedIn(document);
  const told = toldBy(fetch, timeZone, 0);
  const { fetchId } = told;
  const drift = new DriftCounts(SUBSCRIPTIONS);
  for (const { kind, name, count } of document.mends) drift.add(fetchId, kind, name, '', count);
  if (!isSoundUtf8(body)) drift.add(fetchId, 'invalid_utf8', SUBSCRIPTIONS, '');
  const sink = await LineSink.open(folder, SUBSCRIPTIONS);
  try {
    for (const [item, one] of listed.entries()) {
      const line = new Line(item, told).put('id', one.id).putPlain('isPresent', 'true');
      if (one.url !== null) line.put('url', one.url);
      line.put('resources', exactText([...new Set(one.resources)].sort()));
      const values = new ValueTaker(line, fetchId, drift);
      for (const [name, value] of one.extra ?? []) values.keepUnknown(name, value);
      sink.put(values.finish(one.id));
    }
  } catch (error) {
    await sink.close().catch(() => undefined); // the first error is the one to tell
    throw error;
  }
  return { subscriptions: await sink.close(), drift: drift.report() };
}

function listedIn(document: ExactDocument): Subscription[] {
  if (document.sentText(document.value).length > LIMITS.stateAnswerBytes)
    throw new EtlError(
      'failed',
      'answer_too_large',
      `the list of subscriptions is larger than ${LIMITS.stateAnswerBytes} bytes`,
    );
  const listed = parseSubscriptions(document);
  const odd = listed.find(({ id }) => !isPathId(id));
  if (odd)
    throw new EtlError(
      'failed',
      'bad_id',
      `${JSON.stringify(odd.id.slice(0, LIMITS.pushNameChars))} cannot be the id of a subscription`,
    );
  return listed;
}
