/** What is stored of the days of a report: answers in the raw store, and slices that are held. */
import path from 'node:path';
import { type Day, daysOf, maxDay, minDay } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { SliceChange } from '../../lake/lake.ts';
import type { RunContext } from '../context.ts';
import { demandUnpruned } from '../prune/pruned.ts';
import type { Session } from '../session.ts';
import type { HeldDay, Request, Requests, Wanted } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { demandKnown } from '../verify/demand-answers.ts';
import { heldWithoutOutdated, historyChanges } from './history.ts';
import { amendLosers } from './moved.ts';
import { takeFromRawStore } from './taken.ts';
import { applyWindow } from './window.ts';

/** The newest stored answer of every wanted day. */
export async function storedDays(session: Session, pipeline: Pipeline, wanted: Wanted): Promise<Requests> {
  const { context, engine } = session;
  const answers = await answersToReplay(context, pipeline, wanted);
  const each = answers.map(({ fetch, days }): Request => {
    const range = { from: days[0]!, to: days.at(-1)! };
    return {
      range,
      fetch: async (folder) => {
        const taken = await takeFromRawStore(context, pipeline, fetch, folder);
        return {
          apply: () => applyWindow(context, engine, pipeline, taken, { days, isReplay: true }),
          shown: range,
        };
      },
    };
  });
  return { total: each.length, unit: 'answer', each, isAhead: true, failuresInARow: Number.POSITIVE_INFINITY };
}

/**
 * The newest sound answer for each day of the range, in the order in which they were fetched, so that an item that moved ends
 * where it was seen last. A day that lost an item and was not asked for since is left out: its answer is older than the move.
 * Of a day that the lake does not have any more all answers count: the beginnings of its rows and its history are made of them, and
 * what was held of it is held again.
 */
async function answersToReplay(context: RunContext, pipeline: Pipeline, { range, isWanted }: Wanted) {
  const slices = await context.lake.slices(pipeline.name);
  const wanted = new Map<Day, FetchRecord[]>();
  const known = new Set<string>();
  // Under a hold lies an older answer, which the slice is made of.
  const isHeldOn = (day: Day, { fetch_id: id, pruned_at: pruned }: FetchRecord) => {
    const entry = slices.get(day);
    return entry?.held != null && entry.content.fetch_id === id && pruned === undefined;
  };
  const countsBesideNewer = (day: Day, fetch: FetchRecord) => {
    if (slices.has(day)) return isHeldOn(day, fetch);
    return pipeline.keepsHistory === true || fetch.pruned_at === undefined;
  };
  for await (const fetch of context.raw.fetches(pipeline.name)) {
    known.add(fetch.fetch_id);
    if (fetch.outcome !== 'ok' || !fetch.raw_path || !fetch.window_from || !fetch.window_to) continue;
    const covered = { from: maxDay(range.from, fetch.window_from), to: minDay(range.to, fetch.window_to) };
    for (const day of daysOf(covered))
      if (isWanted(day) && !slices.get(day)?.moved)
        wanted.set(day, [...(wanted.get(day) ?? []).filter((one) => countsBesideNewer(day, one)), fetch]);
  }
  if (wanted.size === 0)
    throw new EtlError(
      'usage',
      'nothing_stored',
      `the raw store holds no answer of ${pipeline.name} for ${range.from}..${range.to}`,
      {
        // Without --refetch the days that the lake has would be skipped, and stand on no answer for good.
        hint: `fetch it: partner-etl backfill ${pipeline.name} --from ${range.from} --to ${range.to} --refetch`,
      },
    );
  const replaced = [...wanted.keys()].sort().flatMap((day) => {
    const entry = slices.get(day);
    return entry ? [{ day, fetchId: entry.content.fetch_id }] : [];
  });
  demandKnown(pipeline, replaced, known);
  demandUnpruned(
    pipeline,
    [...wanted].flatMap(([day, fetches]) => fetches.map((fetch) => ({ day, fetch }))),
  );
  const byFetch = new Map<string, { fetch: FetchRecord; days: Day[] }>();
  for (const [day, fetches] of [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)))
    for (const fetch of fetches) {
      const group = byFetch.get(fetch.fetch_id) ?? { fetch, days: [] };
      group.days.push(day);
      byFetch.set(fetch.fetch_id, group);
    }
  return [...byFetch.values()].sort((a, b) => (a.fetch.fetch_id < b.fetch.fetch_id ? -1 : 1));
}

/** What is held of a day lies in the lake, not in the raw store: its slice becomes the one that counts. */
export async function releaseDay(
  { context, engine }: Session,
  pipeline: Pipeline,
  { day, held }: HeldDay,
  folder: string,
): Promise<Applied> {
  const whole = { content: held.content, ...context.lake.heldFiles(held) };
  const amended = path.join(folder, 'amended');
  const rest = await heldWithoutOutdated(context, engine, pipeline, whole, path.join(amended, 'held'));
  const content = rest?.content ?? held.content;
  const file = rest ? rest.files.file : whole.file;
  const losers = await amendLosers(engine, context.lake, pipeline, [{ content, file }], amended);
  const slices = await context.lake.slices(pipeline.name);
  const fileOf = (entry: SliceEntry | undefined) => (entry ? context.lake.rowsFile(entry) : null);
  const applied: SliceChange = {
    kind: 'replace',
    pipeline: pipeline.name,
    content,
    files: { file, rejectsFile: null },
  };
  const ended = await historyChanges(
    context,
    engine,
    pipeline,
    [applied, ...losers],
    (one) => fileOf(slices.get(one)),
    {
      at: content.fetched_at,
      fetchId: content.fetch_id,
      outDir: folder,
    },
  );
  const released: SliceChange[] = [{ kind: 'release', pipeline: pipeline.name, day }, ...(rest ? [rest] : [])];
  await context.lake.commit([...released, ...losers, ...ended]);
  // What was set aside of it was counted when it was fetched.
  const counted = { rejects: 0, duplicates: 0, unchanged: 0, held: 0, drift: [] };
  return { ...counted, rows: content.rows, changed: 1 + losers.length };
}
