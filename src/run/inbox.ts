/**
 * The inbox becomes part of the lake: each segment is kept in the vault as an answer whose fetch has the segment's name, its deliveries
 * become rows, and only then the segment is deleted. Whatever step a run dies at, the next one takes the same segments in
 * again, and to take a delivery in twice changes nothing.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../core/clock.ts';
import { addDays, type Day, type DayRange, dayAt } from '../core/days.ts';
import { asEtlError, assert, EtlError } from '../core/errors.ts';
import { type Pipeline, partsOf } from '../core/pipeline.ts';
import type { FetchRecord } from '../core/records.ts';
import { syncDir } from '../disk/atomic.ts';
import { quoteList } from '../engine/duckdb.ts';
import { readSegment, type Segment, sealedSegments, sealOrphans } from '../extract/inbox.ts';
import { openSegments } from '../extract/inbox-folder.ts';
import { maskedSegment } from '../extract/masked-file.ts';
import { PushLines } from '../extract/push-lines.ts';
import type { SliceChange } from '../lake/lake.ts';
import { takeDeliveries } from '../normalise/deliveries.ts';
import { linesSource, type Told } from '../normalise/told.ts';
import type { RunContext } from './context.ts';
import { maskSetAside } from './erase-files.ts';
import { heldIn, slicesIn, type VersionPlace } from './held.ts';
import { mendingMonths } from './lost-months.ts';
import type { InboxPlan } from './pipeline-plan.ts';
import { remake } from './remaking.ts';
import { type RunOutcome, runSession, type Session } from './session.ts';
import type { WindowResult } from './window.ts';

/** Held by the receiver for as long as it writes into the inbox. */
export const RECEIVER_LOCK = 'receiver';

/** What waits in the inbox. Calls nothing, changes nothing. */
export async function planInbox({ paths }: RunContext, pipeline: Pipeline): Promise<InboxPlan> {
  const segments = await sealedSegments(paths.inbox);
  return {
    kind: 'inbox',
    pipeline,
    segments: segments.length,
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Takes in what waits in the inbox. Errors are in the tally. */
export async function drainInbox(session: Session, pipeline: Pipeline): Promise<void> {
  const { context, tally, ledger } = session;
  const folder = path.join(session.work, pipeline.name);
  try {
    await sealLeftOpen(context);
    const masker = await context.vault.masker(pipeline.name);
    if (masker) await maskSetAside(context.paths.inbox, masker);
    const segments = await sealedSegments(context.paths.inbox);
    if (segments.length === 0) return;
    context.progress.begin(pipeline.name, segments.length, 'segment');
    for (const group of groupsOf(segments)) {
      if (context.signal.aborted) return;
      await mkdir(folder, { recursive: true });
      const { stored, damaged } = await storeSegments(session, pipeline, group, folder);
      tally.errors.push(...damaged);
      const result = await takeSegments(session, pipeline, stored, path.join(folder, 'taken'));
      tally.add(result);
      ledger.drift.push(...result.drift);
      for (const { fetch_id: id } of stored) await forget(group.find((segment) => segment.id === id)!);
      const { rows, changed } = result;
      const at = isoTime(context.clock.now());
      context.progress.window(pipeline.name, { from: at, to: '', rows, changed, units: group.length });
      await rm(folder, { recursive: true, force: true });
    }
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown).about({ pipeline: pipeline.name }));
  } finally {
    context.progress.end(pipeline.name);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Makes the rows from the range's first day on afresh from the segments in the vault. It goes on to the newest day, whatever the
 * range says: a message is what all its deliveries say. Errors: `usage/nothing_stored`, `failed/missing_answer`.
 */
export function replayInbox(
  given: RunContext,
  pipeline: Pipeline,
  command: string,
  range: DayRange,
): Promise<RunOutcome> {
  return runSession(given, command, [pipeline, ...partsOf(given.pipelines, pipeline)], (session) =>
    mendingMonths(session, pipeline, range, async () => {
      const { context } = session;
      const fetches: FetchRecord[] = [];
      // Retention deletes only what brought no row.
      for await (const fetch of context.vault.fetches(pipeline.name))
        if (fetch.outcome === 'ok' && fetch.pruned_at === undefined && dayOf(context, fetch) >= range.from)
          fetches.push(fetch);
      await demandAll(session, pipeline, range.from, fetches);
      context.progress.begin(pipeline.name, fetches.length, 'segment');
      const folder = path.join(session.work, 'replayed');
      const changed = await remake(session, pipeline, range.from, async (place) => {
        const result = await takeSegments(session, pipeline, fetches, folder, place);
        session.tally.add(result);
        session.ledger.drift.push(...result.drift);
      });
      session.tally.changed = changed;
      const { from, to } = range;
      const { rows } = session.tally;
      context.progress.window(pipeline.name, { from, to, rows, changed, units: fetches.length });
      context.progress.end(pipeline.name);
    }),
  );
}

/** Rows of a segment that is not in the vault any more would be gone afterwards. */
async function demandAll(
  { context, engine }: Session,
  pipeline: Pipeline,
  from: Day,
  fetches: readonly FetchRecord[],
): Promise<void> {
  if (fetches.length === 0)
    throw new EtlError('usage', 'nothing_stored', `the vault holds no message of ${pipeline.name} since ${from}`, {
      hint: 'what waits in the inbox is taken in with: partner-etl run push-messages',
    });
  const [part] = partsOf(context.pipelines, pipeline);
  assert(part, `${pipeline.name} has no part for its deliveries`);
  const slices = [...(await context.lake.slices(part.name))].filter(([day]) => day >= from);
  const files = slices.flatMap(([, entry]) => context.lake.rowsFile(part.name, entry) ?? []);
  if (files.length === 0) return;
  const rows = await engine.rows(`SELECT DISTINCT segment FROM read_parquet(${quoteList(files)})`);
  const there = new Set(fetches.map(({ fetch_id: id }) => id));
  const missing = rows.map(({ segment }) => String(segment)).filter((id) => !there.has(id));
  if (missing.length > 0)
    throw new EtlError(
      'failed',
      'missing_answer',
      `the vault has lost ${missing.length} inbox segments, the first is ${missing[0]}`,
      { hint: 'restore the vault from a backup; nothing was changed, the rows themselves are in the lake' },
    );
}

/** Segments that a receiver left open when it died. While one is at work it seals them itself. */
export async function sealLeftOpen({ paths, locks, log }: RunContext): Promise<void> {
  if ((await openSegments(paths.inbox)).length === 0) return;
  const lock = await locks.tryLock(RECEIVER_LOCK, 'run push-messages');
  if (!lock) return;
  try {
    await sealOrphans(paths.inbox, log);
  } finally {
    await lock.release();
  }
}

/** So many bytes of segments are taken in at once: some 300,000 messages. */
const GROUP_BYTES = 128 * 1024 * 1024;

function groupsOf(segments: readonly Segment[]): Segment[][] {
  const groups: Segment[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const segment of segments) {
    if (bytes + segment.bytes > GROUP_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)!.push(segment);
    bytes += segment.bytes;
  }
  return groups;
}

interface StoredSegments {
  readonly stored: readonly FetchRecord[];
  /** Of segments that are left where they lie. */
  readonly damaged: readonly EtlError[];
}

/** Brings the segments into the vault; one that is damaged stays in the inbox and is told. */
async function storeSegments(
  session: Session,
  pipeline: Pipeline,
  segments: readonly Segment[],
  folder: string,
): Promise<StoredSegments> {
  const stored: FetchRecord[] = [];
  const damaged: EtlError[] = [];
  for (const segment of segments) {
    try {
      stored.push(await storeSegment(session, pipeline, segment, folder));
    } catch (thrown) {
      const error = asEtlError(thrown);
      if (error.code !== 'damaged_segment') throw thrown;
      damaged.push(error.about({ pipeline: pipeline.name, file: segment.file }));
    }
  }
  return { stored, damaged };
}

async function storeSegment(
  { context, ledger }: Session,
  pipeline: Pipeline,
  segment: Segment,
  folder: string,
): Promise<FetchRecord> {
  const { vault } = context;
  const times = await readTimes(segment);
  const hash = createHash('sha256');
  const masker = await vault.masker(pipeline.name);
  const body = await vault.receive(pipeline.name, path.join(folder, segment.id), 'segment');
  try {
    const deliveries = createReadStream(segment.file);
    for await (const chunk of masker ? maskedSegment(deliveries, segment.file, masker) : deliveries) {
      hash.update(chunk);
      await body.write(chunk);
    }
  } catch (error) {
    await body.discard();
    throw error;
  }
  const sha256 = hash.digest('hex');
  const record: FetchRecord = {
    fetch_id: segment.id,
    run_id: ledger.runId,
    pipeline: pipeline.name,
    window_from: null,
    window_to: null,
    method: 'POST',
    url: 'inbox',
    attempt: 1,
    started_at: isoTime(times.firstAtMs),
    finished_at: isoTime(times.lastAtMs),
    status: 200,
    content_type: null,
    bytes_received: segment.bytes,
    bytes_decoded: segment.bytes,
    sha256,
    vault_path: await body.keep(sha256, false),
    items: times.deliveries,
    outcome: 'ok',
    error_code: null,
    error_message: null,
  };
  await vault.record(record);
  await context.step('answer-received', pipeline.name);
  return record;
}

/** Reads the whole segment once, so that a damaged one is found out before anything of it is kept. */
async function readTimes(
  segment: Segment,
): Promise<{ readonly deliveries: number; readonly firstAtMs: number; readonly lastAtMs: number }> {
  let [deliveries, firstAtMs, lastAtMs] = [0, Number.POSITIVE_INFINITY, 0];
  for await (const { receivedAtMs } of readSegment(createReadStream(segment.file), segment.file)) {
    deliveries += 1;
    firstAtMs = Math.min(firstAtMs, receivedAtMs);
    lastAtMs = Math.max(lastAtMs, receivedAtMs);
  }
  return { deliveries, firstAtMs: deliveries === 0 ? 0 : firstAtMs, lastAtMs };
}

/** Stored segments → lake, in one commit. */
async function takeSegments(
  session: Session,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  folder: string,
  place: VersionPlace = { lake: session.context.lake, under: null },
): Promise<WindowResult> {
  const { context, engine, ledger } = session;
  const [part] = partsOf(context.pipelines, pipeline);
  assert(part, `${pipeline.name} has no part for its deliveries`);
  await mkdir(folder, { recursive: true });
  const lines = await PushLines.open(folder, context.timeZone);
  for (const fetch of fetches) {
    const bytes = context.vault.answer(fetch, true);
    await lines.take(fetch.fetch_id, readSegment(bytes, fetch.vault_path ?? fetch.fetch_id));
  }
  const { file, lines: count, longestLineBytes, firstDay, unreadable, drift } = await lines.close();
  const told = (one: Pipeline): Told => ({
    pipeline: one,
    lines: count,
    source: linesSource(one, file, longestLineBytes),
  });
  const since = firstDay === null ? null : addDays(firstDay, -CLOCK_DAYS);
  const held = async (one: Pipeline) => ({
    ...(await heldIn(place, one)),
    knownFiles: await filesSince(place, one, since),
  });
  const taken = await takeDeliveries(engine, {
    messages: { told: told(pipeline), held: await held(pipeline) },
    deliveries: { told: told(part), held: await held(part) },
    refusedFiles: unreadable.lines > 0 ? [unreadable.file] : [],
    fetchId: fetches.at(-1)?.fetch_id ?? ledger.runId,
    atMs: context.clock.now(),
    timeZone: context.timeZone,
    outDir: path.join(folder, 'slices'),
  });
  await context.step('normalised', pipeline.name);
  const changes = taken.slices.map(
    ({ pipeline: one, content, file: rows, rejectsFile }): SliceChange => ({
      kind: 'replace',
      pipeline: one.name,
      content,
      files: { file: rows, rejectsFile },
    }),
  );
  await place.lake.commit(changes);
  await context.step('lake-committed', pipeline.name);
  await rm(folder, { recursive: true, force: true });
  const changed = taken.slices.length;
  return {
    rows: taken.newMessages,
    rejects: taken.rejects,
    duplicates: taken.duplicates,
    changed,
    unchanged: changed > 0 ? 0 : 1,
    held: 0,
    drift: [...drift, ...taken.drift],
  };
}

/** The service's clock and ours may differ: a message may come before its own time. */
const CLOCK_DAYS = 1;

/** Files of the slices that can hold what was told of messages since that day. */
async function filesSince(place: VersionPlace, pipeline: Pipeline, since: Day | null): Promise<string[]> {
  if (since === null) return [];
  const slices = [...(await slicesIn(place, pipeline))].filter(([day]) => day >= since);
  return slices.flatMap(([, { lake, entry }]) => lake.rowsFile(pipeline.name, entry) ?? []);
}

async function forget({ file }: Segment): Promise<void> {
  await rm(file, { force: true });
  await syncDir(path.dirname(file));
}

function dayOf({ timeZone }: RunContext, { finished_at: at }: FetchRecord): Day {
  return dayAt(Date.parse(at), timeZone);
}
