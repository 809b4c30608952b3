/**
 * Up to where the answers of look-ups were made part of the lake: `state/applied/<pipeline>.json`, for each run the bytes of its
 * index that were read. What lies behind is pending: a run that was killed left it, a command wrote it, or it is held.
 *
 * A memory aid: when it is lost, everything that is newer than the lake's newest slice is pending, and to take an answer in
 * twice changes nothing.
 */
import path from 'node:path';
import { z } from 'zod';
import type { Pipeline } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import { writeJson } from '../disk/atomic.ts';
import { readRecords, runRecords } from '../extract/run-records.ts';
import type { RunContext } from './context.ts';
import { readState } from './state-file.ts';

/** Runs that are remembered; older ones count as applied. */
const RUNS_KEPT = 100;

const shape = z.object({ runs: z.record(z.string(), z.int().nonnegative()) });

export interface Pending {
  /** Answers, in the order in which they came. */
  readonly fetches: readonly FetchRecord[];
  /** Notes that they are applied. */
  done(): Promise<void>;
}

export async function pendingAnswers(context: RunContext, pipeline: Pipeline): Promise<Pending> {
  const { paths } = context;
  const file = path.join(paths.state, 'applied', `${pipeline.name}.json`);
  const known = (await readState(file, shape))?.runs ?? null;
  const remembered = Object.keys(known ?? {}).sort();
  // While not all are remembered that may be, one that is not was never read, however old it calls itself.
  const oldest = remembered.length < RUNS_KEPT ? '' : remembered[0]!;
  const since = known === null ? await newestSlice(context, pipeline) : '';
  const fetches: FetchRecord[] = [];
  const now: Record<string, number> = {};
  for (const index of await runRecords(paths.vault, pipeline.name)) {
    const from = known?.[index.runId] ?? 0;
    now[index.runId] = index.bytes;
    if (index.runId < oldest || index.bytes <= from) continue;
    const warn = (message: string) => context.log.warn(message, { pipeline: pipeline.name });
    const { records, bytes } = await readRecords(index, from, warn);
    now[index.runId] = bytes;
    for (const fetch of records)
      if (fetch.outcome === 'ok' && fetch.vault_path !== null && fetch.finished_at > since) fetches.push(fetch);
  }
  const kept = Object.fromEntries(Object.entries(now).sort().slice(-RUNS_KEPT));
  return { fetches, done: () => writeJson(file, { runs: kept }) };
}

/** The records of a run take other bytes now; where all of them were applied, they still are. */
export async function recordsRewritten(
  { paths }: Pick<RunContext, 'paths'>,
  pipeline: string,
  runId: string,
  { before, now }: { readonly before: number; readonly now: number },
): Promise<void> {
  const file = path.join(paths.state, 'applied', `${pipeline}.json`);
  const known = (await readState(file, shape))?.runs;
  if (before !== now && known?.[runId] === before) await writeJson(file, { runs: { ...known, [runId]: now } });
}

/** A slice that holds nothing says nothing of what was taken in: it may stand there for what is held. */
async function newestSlice({ lake }: RunContext, pipeline: Pipeline): Promise<string> {
  const slices = await lake.slices(pipeline.name);
  return [...slices.values()].reduce(
    (newest, { content }) =>
      content.fetched_at > newest && (content.rows > 0 || content.rejects > 0) ? content.fetched_at : newest,
    '',
  );
}
