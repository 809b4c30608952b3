/**
 * Months of the lake whose manifest is damaged. A replay sets such a manifest aside (`<yyyy-mm>.json.damaged`), so that its month
 * counts as one of which nothing is known, and makes its slices again from the vault. What was set aside goes when the replay has
 * ended well: until then, also after a kill, the next replay knows which months it has to make whole.
 */
import type { Day, DayRange } from '../core/days.ts';
import { type Pipeline, partsOf } from '../core/pipeline.ts';
import type { Session } from './session.ts';

/** Whether nothing is known of a day of a pipeline or a part. */
export type IsLost = (pipeline: string, day: Day) => boolean;

/** Runs `work`, which makes the slices of the range again, under the run lock. */
export async function mendingMonths(
  { context: { lake, pipelines, log }, tally }: Session,
  pipeline: Pipeline,
  range: DayRange,
  work: (isLost: IsLost) => Promise<void>,
): Promise<void> {
  const lost = new Set<string>();
  const names = [pipeline, ...partsOf(pipelines, pipeline)].map(({ name }) => name);
  for (const name of names)
    for (const month of await lake.setAsideDamaged(name, range)) {
      log.warn(`the manifest of ${name} for ${month} is damaged; its slices are made again`, { pipeline: name });
      lost.add(`${name}/${month}`);
    }
  await work((name, day) => lost.has(`${name}/${day.slice(0, 7)}`));
  if (tally.errors.length === 0) for (const name of names) await lake.dropDamaged(name, range);
}
