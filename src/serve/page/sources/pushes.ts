/** Push messages by day: what was taken in, from the lake; what was refused, from the names of the files in which it is kept. */
import path from 'node:path';
import { addDays, type Day, dayAt } from '../../../core/days.ts';
import { bornMs } from '../../../core/ids.ts';
import { namesIn } from '../../../disk/atomic.ts';
import type { RunContext } from '../../../run/context.ts';
import { refusedReason } from '../../refusals/refused-messages.ts';
import type { PushDay } from '../model.ts';

const DAYS_SHOWN = 92;

/** Days on which something came, oldest first. */
export async function pushDays(context: RunContext): Promise<PushDay[]> {
  const { pipelines, lake, today, timeZone, paths } = context;
  const since = addDays(today, 1 - DAYS_SHOWN);
  const days = new Map<Day, { received: number; refused: number }>();
  const at = (day: Day) => {
    const known = days.get(day) ?? { received: 0, refused: 0 };
    days.set(day, known);
    return known;
  };
  for (const { name } of pipelines.filter(({ table }) => table === 'push_delivery'))
    for (const [day, { content }] of await lake.slices(name)) if (day >= since) at(day).received += content.rows;
  for (const name of await namesIn(path.join(paths.inbox, 'refused'))) {
    if (refusedReason(name) === null) continue;
    const day = dayAt(bornMs(name), timeZone);
    if (day >= since) at(day).refused += 1;
  }
  return [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, counts]) => ({ day, ...counts }));
}
