/**
 * The inbox becomes part of the lake: what waits is read once, and goes into the raw store as one answer and into lines for the lake at
 * the same time; once the lake has its rows it is deleted from the inbox. Whatever step a run dies at, the next one reads the same
 * deliveries again under the same fetch, and to take a delivery in twice changes nothing.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { isoTime } from '../../core/clock.ts';
import { addDays, type Day } from '../../core/days.ts';
import { assert } from '../../core/errors.ts';
import { earliestId } from '../../core/ids.ts';
import { childrenOf, type Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { type DeliveryLines, PushLines } from '../../extract/push-lines.ts';
import { deliveryLine, maskedDelivery, readDeliveries } from '../../extract/stored-deliveries.ts';
import type { SliceChange } from '../../lake/lake.ts';
import { takeDeliveries } from '../../normalise/deliveries.ts';
import { linesSource, type ObservedRows } from '../../normalise/observed.ts';
import { inboxSize, lastDelivery, readInbox, removeDeliveries, type StoredDelivery } from '../../store/tables/inbox.ts';
import { dayOfFetch } from '../context.ts';
import { currentIn, slicesIn, type VersionPlace } from '../merge/current.ts';
import { storedSince } from '../merge/stored.ts';
import type { Session } from '../session.ts';
import { eventStatus } from '../status/status-days.ts';
import type { Applied } from '../tally.ts';
import type { Request, Response, Source } from './source.ts';

/** So many bytes of messages become one answer of the raw store, and rows of the lake in one commit: some 300,000 messages. */
const ANSWER_BYTES = 128 * 1024 * 1024;
/** Read from the inbox at once: of bodies of 64 KiB some 13 MB. */
const PAGE_ROWS = 200;

export const inboxSource: Source = {
  async plan({ state }, _engine, pipeline) {
    const waiting = await inboxSize(state.db);
    return { pipeline, calls: 0, isDue: waiting.messages > 0, slices: 0, details: { inbox: waiting } };
  },
  budget: () => null,
  /** What was not applied waits in the inbox still. */
  pending: async () => null,
  async requests(session, _partners, { pipeline }) {
    const { context } = session;
    const { db } = context.state;
    const masker = await context.raw.masker(pipeline.name);
    if (masker) await context.masking.setAside(context.paths.inbox, masker);
    const upTo = await lastDelivery(db);
    if (upTo === null) return null;
    const each = waiting(session, pipeline, upTo);
    return { total: (await inboxSize(db)).messages, unit: 'message', each };
  },
  /** All of them together: a message is what all its deliveries say. */
  stored: (session, pipeline, { range }) =>
    storedSince(session, pipeline, range, isKept, (fetches) => [
      { fetch: (folder) => readStored(session, pipeline, fetches, folder) },
    ]),
  async held(_session, { name }) {
    assert(false, `${name} is never held: messages only come`);
  },
  /** Of messages nobody knows whether more should have come. */
  async status(context, pipeline) {
    const newest = [...(await context.lake.slices(pipeline.name)).keys()].at(-1) ?? null;
    const inbox = await inboxSize(context.state.db);
    return { ...(await eventStatus(context, pipeline)), newest, days_behind: null, inbox };
  },
};

/** One after the other until nothing waits: where the next begins is known when the one before has left the inbox. */
async function* waiting(session: Session, pipeline: Pipeline, upTo: string): AsyncGenerator<Request> {
  for (;;) {
    const [first] = await readInbox(session.context.state.db, { after: null, upTo, limit: 1 });
    if (!first) return;
    yield { fetch: (folder) => storeAnswer(session, pipeline, { first, upTo, folder }) };
  }
}

/** Retention deletes only what brought no row. */
function isKept({ pruned_at: pruned }: FetchRecord): boolean {
  return pruned === undefined;
}

async function readStored(
  session: Session,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  folder: string,
): Promise<Response> {
  const { context } = session;
  const lines = await PushLines.open(folder, pipeline.name, context.timeZone);
  for (const fetch of fetches) {
    const name = fetch.raw_path ?? fetch.fetch_id;
    await lines.take(fetch.fetch_id, readDeliveries(context.raw.answer(fetch, true), name));
  }
  const closed = await lines.close();
  const fetchId = fetches.at(-1)!.fetch_id;
  const [from, to] = [fetches[0]!, fetches.at(-1)!].map((fetch) => dayOfFetch(context, fetch)) as [Day, Day];
  return {
    apply: ({ place }) => applyLines(session, pipeline, closed, { fetchId, folder, place }),
    shown: { from, to, units: fetches.length },
  };
}

interface Draining {
  readonly first: StoredDelivery;
  /** Id of the last delivery that is taken in now. */
  readonly upTo: string;
  readonly folder: string;
}

/** Brings deliveries from the first that waits on into the raw store, as one answer, and makes lines of them. */
async function storeAnswer(session: Session, pipeline: Pipeline, { first, upTo, folder }: Draining): Promise<Response> {
  const { context, ledger } = session;
  const { raw, state } = context;
  const fetchId = fetchIdOf(first, upTo);
  const lines = await PushLines.open(folder, pipeline.name, context.timeZone);
  const masker = await raw.masker(pipeline.name);
  const body = await raw.receive(pipeline.name, path.join(folder, 'answer'), 'ndjson');
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
    raw_path: await body.keep(sha256, true),
    items: deliveries,
    outcome: 'ok',
    error_code: null,
    error_message: null,
  };
  await raw.record(fetch);
  await context.step('answer-received', pipeline.name);
  return received(session, pipeline, fetch, closed, { last, folder });
}

/** Of the same deliveries always the same: where a run died they are no second answer, but the one that was there. */
function fetchIdOf({ deliveryId, receivedAtMs }: StoredDelivery, upTo: string): string {
  const name = createHash('sha256').update(`${deliveryId} ${upTo}`).digest('hex').slice(0, 8);
  return `${earliestId('f', receivedAtMs)}${name}`;
}

interface Received {
  /** Id of the last delivery in it. */
  readonly last: string;
  readonly folder: string;
}

/** Deliveries that lie in the raw store leave the inbox once the lake has their rows. */
function received(
  session: Session,
  pipeline: Pipeline,
  { fetch_id: fetchId, started_at: from, finished_at: to, items }: FetchRecord,
  lines: DeliveryLines,
  { last, folder }: Received,
): Response {
  return {
    async apply({ place }) {
      const applied = await applyLines(session, pipeline, lines, { fetchId, folder, place });
      await removeDeliveries(session.context.state, last);
      return applied;
    },
    shown: { from, to, units: items ?? 0 },
  };
}

interface Applying {
  /** What is found of all lines together is recorded of this fetch. */
  readonly fetchId: string;
  readonly folder: string;
  readonly place: VersionPlace;
}

/** Lines → lake, in one commit. */
async function applyLines(
  session: Session,
  pipeline: Pipeline,
  { file, lines: count, longestLineBytes, firstDay, unreadable, drift }: DeliveryLines,
  { fetchId, folder, place }: Applying,
): Promise<Applied> {
  const { context, engine } = session;
  const [child] = childrenOf(context.pipelines, pipeline);
  assert(child, `${pipeline.name} has no child for its deliveries`);
  const observed = (one: Pipeline): ObservedRows => ({
    pipeline: one,
    lines: count,
    source: linesSource(one, file, longestLineBytes),
  });
  const since = firstDay === null ? null : addDays(firstDay, -CLOCK_DAYS);
  const current = async (one: Pipeline) => ({
    ...(await currentIn(place, one)),
    knownFiles: await filesSince(place, one, since),
  });
  const made = await takeDeliveries(engine, {
    messages: { observed: observed(pipeline), current: await current(pipeline) },
    deliveries: { observed: observed(child), current: await current(child) },
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

/** Files of the slices that can hold what is known of messages since that day. */
async function filesSince(place: VersionPlace, pipeline: Pipeline, since: Day | null): Promise<string[]> {
  if (since === null) return [];
  const slices = [...(await slicesIn(place, pipeline))].filter(([day]) => day >= since);
  return slices.flatMap(([, { lake, entry }]) => lake.rowsFile(entry) ?? []);
}
