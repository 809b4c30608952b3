/**
 * The inbox becomes part of the lake: what waits is read once, and goes into the vault as one answer and into lines for the lake at
 * the same time; once the lake has its rows it is deleted from the inbox. Whatever step a run dies at, the next one reads the same
 * deliveries again under the same fetch, and to take a delivery in twice changes nothing.
 */
import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { isoTime } from '../../core/clock.ts';
import { addDays, type Day, type DayRange } from '../../core/days.ts';
import { asEtlError, assert, EtlError } from '../../core/errors.ts';
import { earliestId } from '../../core/ids.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { readParquet } from '../../engine/duckdb.ts';
import { maskedDelivery } from '../../extract/masked-file.ts';
import { type DeliveryLines, PushLines } from '../../extract/push-lines.ts';
import { deliveryLine, readDeliveries } from '../../extract/stored-deliveries.ts';
import type { SliceChange } from '../../lake/lake.ts';
import { takeDeliveries } from '../../normalise/deliveries.ts';
import { linesSource, type Told } from '../../normalise/told.ts';
import { inboxSize, lastDelivery, readInbox, removeDeliveries, type StoredDelivery } from '../../store/inbox.ts';
import { dayOfFetch, type RunContext } from '../context.ts';
import { maskSetAside } from '../erase/files.ts';
import { heldIn, slicesIn, type VersionPlace } from '../merge/held.ts';
import { remake } from '../merge/remaking.ts';
import type { Plan } from '../plan.ts';
import { type RunOutcome, runSession, type Session } from '../session.ts';
import type { WindowResult } from '../window/window.ts';

/** So many bytes of messages become one answer of the vault, and rows of the lake in one commit: some 300,000 messages. */
const ANSWER_BYTES = 128 * 1024 * 1024;
/** Read from the inbox at once: of bodies of 64 KiB some 13 MB. */
const PAGE_ROWS = 200;

/** What waits in the inbox. Calls nothing, changes nothing. */
export async function planInbox({ state }: RunContext, pipeline: Pipeline): Promise<Plan> {
  const waiting = await inboxSize(state.db);
  return { pipeline, calls: 0, isDue: waiting.messages > 0, slices: 0, details: { inbox: waiting } };
}

/** Takes in what waits in the inbox by now. Errors are in the tally. */
export async function drainInbox(session: Session, pipeline: Pipeline): Promise<void> {
  const { context, tally, ledger } = session;
  const folder = path.join(session.work, pipeline.name);
  try {
    const masker = await context.vault.masker(pipeline.name);
    if (masker) await maskSetAside(context.paths.inbox, masker);
    const upTo = await lastDelivery(context.state.db);
    if (upTo === null) return;
    context.progress.begin(pipeline.name, (await inboxSize(context.state.db)).messages, 'message');
    while (!context.signal.aborted) {
      const [first] = await readInbox(context.state.db, { after: null, upTo, limit: 1 });
      if (!first) return;
      const { lines, fetch, last } = await storeAnswer(session, pipeline, { first, upTo, folder });
      const result = await applyLines(session, pipeline, lines, { fetchId: fetch.fetch_id, folder });
      await removeDeliveries(context.state, last);
      tally.add(result);
      ledger.drift.push(...result.drift);
      const { rows, changed } = result;
      const [from, to] = [fetch.started_at, fetch.finished_at];
      context.progress.window(pipeline.name, { from, to, rows, changed, units: fetch.items ?? 0 });
    }
  } catch (thrown) {
    tally.errors.push(asEtlError(thrown).about({ pipeline: pipeline.name }));
  } finally {
    context.progress.end(pipeline.name);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Makes the rows from the range's first day on afresh from the messages in the vault. It goes on to the newest day, whatever the
 * range says: a message is what all its deliveries say. Errors: `usage/nothing_stored`, `failed/missing_answer`.
 */
export function replayInbox(
  given: RunContext,
  pipeline: Pipeline,
  command: string,
  range: DayRange,
): Promise<RunOutcome> {
  return runSession(given, command, [pipeline, ...childrenOf(given.pipelines, pipeline)], async (session) => {
    const { context } = session;
    const fetches: FetchRecord[] = [];
    // Retention deletes only what brought no row.
    for await (const fetch of context.vault.fetches(pipeline.name))
      if (fetch.outcome === 'ok' && fetch.pruned_at === undefined && dayOfFetch(context, fetch) >= range.from)
        fetches.push(fetch);
    await demandAll(session, pipeline, range.from, fetches);
    context.progress.begin(pipeline.name, fetches.length, 'answer');
    const folder = path.join(session.work, 'replayed');
    const changed = await remake(session, pipeline, range.from, async (place) => {
      const lines = await openLines(context, folder);
      for (const fetch of fetches) {
        const name = fetch.vault_path ?? fetch.fetch_id;
        await lines.take(fetch.fetch_id, readDeliveries(context.vault.answer(fetch, true), name));
      }
      const fetchId = fetches.at(-1)!.fetch_id;
      const result = await applyLines(session, pipeline, await lines.close(), { fetchId, folder, place });
      session.tally.add(result);
      session.ledger.drift.push(...result.drift);
    });
    session.tally.changed = changed;
    const { from, to } = range;
    const { rows } = session.tally;
    context.progress.window(pipeline.name, { from, to, rows, changed, units: fetches.length });
    context.progress.end(pipeline.name);
  });
}

/** Rows of messages that are not in the vault any more would be gone afterwards. */
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
  const [part] = childrenOf(context.pipelines, pipeline);
  assert(part, `${pipeline.name} has no part for its deliveries`);
  const slices = [...(await context.lake.slices(part.name))].filter(([day]) => day >= from);
  const files = slices.flatMap(([, entry]) => context.lake.rowsFile(entry) ?? []);
  if (files.length === 0) return;
  const rows = await engine.rows(`SELECT DISTINCT fetch_id FROM ${readParquet(files)}`);
  const there = new Set(fetches.map(({ fetch_id: id }) => id));
  const missing = rows.map(({ fetch_id: id }) => String(id)).filter((id) => !there.has(id));
  if (missing.length > 0)
    throw new EtlError(
      'failed',
      'missing_answer',
      `the vault has lost ${missing.length} answers with messages, the first is ${missing[0]}`,
      { hint: 'restore the vault from a backup; nothing was changed, the rows themselves are in the lake' },
    );
}

interface Draining {
  readonly first: StoredDelivery;
  /** Id of the last delivery that is taken in now. */
  readonly upTo: string;
  readonly folder: string;
}

interface StoredAnswer {
  readonly fetch: FetchRecord;
  readonly lines: DeliveryLines;
  /** Id of the last delivery in it. */
  readonly last: string;
}

/** Brings deliveries from the first that waits on into the vault, as one answer, and makes lines of them. */
async function storeAnswer(
  { context, ledger }: Session,
  pipeline: Pipeline,
  { first, upTo, folder }: Draining,
): Promise<StoredAnswer> {
  const { vault, state } = context;
  const fetchId = fetchIdOf(first, upTo);
  const lines = await openLines(context, folder);
  const masker = await vault.masker(pipeline.name);
  const body = await vault.receive(pipeline.name, path.join(folder, 'answer'), 'ndjson');
  const hash = createHash('sha256');
  let [last, bytes, bytesReceived] = [null as string | null, 0, 0];
  async function* stored(): AsyncGenerator<StoredDelivery> {
    while (bytes < ANSWER_BYTES) {
      const waiting = await readInbox(state.db, { after: last, upTo, limit: PAGE_ROWS });
      if (waiting.length === 0) return;
      const page = masker ? waiting.map((one) => maskedDelivery(one, masker)) : waiting;
      const text = Buffer.from(page.map(deliveryLine).join(''));
      hash.update(text);
      await body.write(gzipSync(text, { level: 1 }));
      bytes += text.length;
      bytesReceived += waiting.reduce((sum, one) => sum + one.body.length, 0);
      last = waiting.at(-1)!.deliveryId;
      yield* page;
    }
  }
  const { deliveries, firstAtMs, lastAtMs } = await lines.take(fetchId, stored()).catch(async (error) => {
    await Promise.all([body.discard(), lines.close().catch(() => undefined)]);
    throw error;
  });
  const closed = await lines.close();
  assert(last !== null && firstAtMs !== null && lastAtMs !== null, 'the first delivery is gone from the inbox');
  const sha256 = hash.digest('hex');
  const fetch: FetchRecord = {
    fetch_id: fetchId,
    run_id: ledger.runId,
    pipeline: pipeline.name,
    window_from: null,
    window_to: null,
    method: 'POST',
    url: 'inbox',
    attempt: 1,
    started_at: isoTime(firstAtMs),
    finished_at: isoTime(lastAtMs),
    status: 200,
    content_type: null,
    bytes_received: bytesReceived,
    bytes_decoded: bytes,
    sha256,
    vault_path: await body.keep(sha256, true),
    items: deliveries,
    outcome: 'ok',
    error_code: null,
    error_message: null,
  };
  await vault.record(fetch);
  await context.step('answer-received', pipeline.name);
  return { fetch, lines: closed, last };
}

/** Of the same deliveries always the same: where a run died they are no second answer, but the one that was there. */
function fetchIdOf({ deliveryId, receivedAtMs }: StoredDelivery, upTo: string): string {
  const name = createHash('sha256').update(`${deliveryId} ${upTo}`).digest('hex').slice(0, 8);
  return `${earliestId('f', receivedAtMs)}${name}`;
}

async function openLines({ timeZone }: RunContext, folder: string): Promise<PushLines> {
  await mkdir(folder, { recursive: true });
  return PushLines.open(folder, timeZone);
}

interface Applying {
  /** What is found of all lines together is told of this fetch. */
  readonly fetchId: string;
  readonly folder: string;
  readonly place?: VersionPlace;
}

/** Lines → lake, in one commit. */
async function applyLines(
  session: Session,
  pipeline: Pipeline,
  { file, lines: count, longestLineBytes, firstDay, unreadable, drift }: DeliveryLines,
  { fetchId, folder, place = { lake: session.context.lake, under: null } }: Applying,
): Promise<WindowResult> {
  const { context, engine } = session;
  const [part] = childrenOf(context.pipelines, pipeline);
  assert(part, `${pipeline.name} has no part for its deliveries`);
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
  const made = await takeDeliveries(engine, {
    messages: { told: told(pipeline), held: await held(pipeline) },
    deliveries: { told: told(part), held: await held(part) },
    refusedFiles: unreadable.lines > 0 ? [unreadable.file] : [],
    fetchId,
    atMs: context.clock.now(),
    timeZone: context.timeZone,
    outDir: path.join(folder, 'slices'),
  });
  await context.step('normalised', pipeline.name);
  const changes = made.slices.map(
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
  const changed = made.slices.length;
  return {
    rows: made.newMessages,
    rejects: made.rejects,
    duplicates: made.duplicates,
    changed,
    unchanged: changed > 0 ? 0 : 1,
    held: 0,
    drift: [...drift, ...made.drift],
  };
}

/** The service's clock and ours may differ: a message may come before its own time. */
const CLOCK_DAYS = 1;

/** Files of the slices that can hold what was told of messages since that day. */
async function filesSince(place: VersionPlace, pipeline: Pipeline, since: Day | null): Promise<string[]> {
  if (since === null) return [];
  const slices = [...(await slicesIn(place, pipeline))].filter(([day]) => day >= since);
  return slices.flatMap(([, { lake, entry }]) => lake.rowsFile(entry) ?? []);
}
