/** The push messages of the last days, and which of their links may be followed. */
import { pushMessages } from '../../../pipelines/push-messages.ts';
import { addDays, dayAt } from '../../core/days.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { readParquet } from '../../engine/duckdb.ts';
import { linkCall } from '../../partner/calls/subscriptions.ts';
import type { PartnerSettings } from '../../partner/settings.ts';
import type { RunContext } from '../context.ts';

/** Messages that are looked at for what they tell of: the service forgets a process after two days. */
const MESSAGE_DAYS = 3;

export type IsOwn = (href: string) => boolean;

/** A FROM item of the messages that came in the last days: resource, resource_id, links as JSON text, message_at, fetch_id. */
export async function recentMessages({ lake, clock, timeZone }: RunContext): Promise<string> {
  const since = addDays(dayAt(clock.now(), timeZone), -MESSAGE_DAYS);
  const slices = [...(await lake.slices(pushMessages.name))].filter(([day]) => day >= since);
  const files = slices.flatMap(([, entry]) => lake.rowsFile(entry) ?? []);
  return files.length === 0
    ? `(SELECT NULL::VARCHAR AS resource, NULL::VARCHAR AS resource_id, NULL::VARCHAR AS links, NULL::TIMESTAMPTZ AS message_at,
         NULL::VARCHAR AS fetch_id LIMIT 0)`
    : `(SELECT resource, resource_id, links::VARCHAR AS links, first_delivered_at AS message_at, fetch_id
         FROM ${readParquet(files, ['union_by_name = true'])})`;
}

/** Which links may be followed. Without settings no call can be made, and every link counts as one that could be. */
export function ownLinks(context: RunContext, { name }: Pipeline): IsOwn {
  let settings: PartnerSettings;
  try {
    settings = context.partnerSettings('retailer');
  } catch {
    return (href) => href.length <= LIMITS.linkChars;
  }
  return (href) => {
    try {
      linkCall(settings, name, href, () => Promise.reject(new Error('this link is only looked at')));
      return true;
    } catch {
      return false;
    }
  };
}
