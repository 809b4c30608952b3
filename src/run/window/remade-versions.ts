/**
 * The history of days whose slice of versions is damaged, or does not fit the items, made again from the raw store: each answer that
 * covers the day is taken in once more, oldest first, as it was taken then. What other days say of the items stays as it is.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Day, type DayRange, inRange } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { guardSlice } from '../../core/guard.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { prunedWords } from '../../core/pruned.ts';
import type { FetchRecord, SliceContent } from '../../core/records.ts';
import type { ChangedSlice } from '../../normalise/changed-slices.ts';
import { normalise } from '../../normalise/normalise.ts';
import { takeVersions, unfitting } from '../../normalise/order-versions.ts';
import type { Session } from '../session.ts';
import { sliceProblem } from '../verify/slice-problem.ts';
import { historyOf, knownVersions, sightAt } from './order-versions.ts';
import { normaliseInput, takeFromRawStore } from './window.ts';

/** Fixes the history of the days of the range; returns how many slices were made again. Errors: `failed/no_history`. */
export async function fixHistory(session: Session, items: Pipeline, range: DayRange): Promise<number> {
  const { context } = session;
  const versions = historyOf(context, items);
  if (!versions) return 0;
  const damaged = await damagedDays(session, items, versions, range);
  for (const day of damaged) {
    const folder = path.join(session.work, `history-${day}`);
    const made = await remade(session, { items, versions }, day, damaged, folder);
    if (!made)
      throw new EtlError(
        'failed',
        'no_history',
        `${versions.name} ${day}: the raw store holds no answer to make it of`,
        {
          concern: { pipeline: items.name, day },
          hint: `fetch the day again: partner-etl backfill ${items.name} --from ${day} --to ${day} --refetch`,
        },
      );
    const { content, file, rejectsFile } = made;
    await context.lake.commit([{ kind: 'replace', pipeline: versions.name, content, files: { file, rejectsFile } }]);
    await rm(folder, { recursive: true, force: true });
  }
  return damaged.size;
}

async function damagedDays(
  { engine, context: { lake } }: Session,
  items: Pipeline,
  versions: Pipeline,
  range: DayRange,
): Promise<Set<Day>> {
  const [slices, histories] = [await lake.slices(items.name), await lake.slices(versions.name)];
  const damaged = new Set<Day>();
  // A slice and its history come in one commit, so one that has none has lost it.
  for (const [day, { content }] of slices)
    if (inRange(day, range) && content.rows > 0 && !histories.has(day)) damaged.add(day);
  for (const [day, entry] of histories) {
    if (!inRange(day, range)) continue;
    const known = slices.get(day);
    const file = known && lake.rowsFile(known);
    const own = lake.rowsFile(entry);
    if ((await sliceProblem(engine, lake, versions, entry)) !== null) damaged.add(day);
    else if (
      known &&
      (await sliceProblem(engine, lake, items, known)) === null &&
      (await unfitting(engine, items, file, own))
    )
      damaged.add(day);
  }
  return damaged;
}

async function remade(
  session: Session,
  history: { readonly items: Pipeline; readonly versions: Pipeline },
  day: Day,
  damaged: ReadonlySet<Day>,
  folder: string,
): Promise<ChangedSlice | null> {
  const { context, engine } = session;
  const { items, versions } = history;
  const lake = await knownVersions(context.lake, versions, damaged);
  const current = (await context.lake.slices(items.name)).get(day)?.content;
  let made: ChangedSlice | null = null;
  let before: SliceContent | null = null;
  for (const [i, fetch] of (await answersOf(session, items, day)).entries()) {
    const outDir = path.join(folder, String(i));
    if (fetch.pruned_at !== undefined) throw prunedHistory(versions, day, fetch.pruned_at);
    const observed = await observedThen(session, items, fetch, day, outDir);
    if (!observed || observed.content.digest === before?.digest) continue;
    // What was held then, and not released since, was never known.
    if (guardSlice(before, observed.content, context.guard) && fetch.fetch_id !== current?.fetch_id) continue;
    before = observed.content;
    const [changed]: ChangedSlice[] = await takeVersions(
      engine,
      history,
      { ...lake, files: () => (made?.file ? [made.file] : []), digest: () => null },
      {
        days: [day],
        files: observed.file === null ? [] : [observed.file],
        before: [],
        ...sightAt(context, items, fetch.finished_at),
        fetchId: fetch.fetch_id,
        outDir: path.join(outDir, 'versions'),
        isPast: true,
      },
    );
    made = changed ?? made;
  }
  return made;
}

/** Of some of the answers there would be a history with gaps that nobody sees. */
function prunedHistory({ name }: Pipeline, day: Day, at: string): EtlError {
  return new EtlError(
    'failed',
    'pruned_history',
    `${name} ${day}: an answer that it was made of was ${prunedWords(at)}`,
    {
      concern: { pipeline: name, day },
      hint: `restore lake/${name} from a backup`,
    },
  );
}

/** Every answer that covers the day, oldest first. */
async function answersOf({ context }: Session, items: Pipeline, day: Day): Promise<FetchRecord[]> {
  const answers: FetchRecord[] = [];
  for await (const fetch of context.raw.fetches(items.name)) {
    const { outcome, raw_path, window_from: from, window_to: to } = fetch;
    if (outcome === 'ok' && raw_path && from && to && inRange(day, { from, to })) answers.push(fetch);
  }
  return answers.sort((a, b) => (a.finished_at < b.finished_at ? -1 : 1));
}

/** The items of the day as an answer has them. */
async function observedThen(
  { context, engine }: Session,
  items: Pipeline,
  fetch: FetchRecord,
  day: Day,
  outDir: string,
) {
  const folder = path.join(outDir, 'answer');
  await mkdir(folder, { recursive: true });
  const taken = await takeFromRawStore(context, items, fetch, folder);
  const { slices } = await normalise(
    engine,
    normaliseInput(context, items, taken, [day], () => false),
  );
  return slices[0];
}
