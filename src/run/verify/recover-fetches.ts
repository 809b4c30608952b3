/**
 * What a state lacks that was restored from a backup, or begun empty: the records of requests since then. Those of small responses stand
 * beside these in the raw store. Each publication wrote all of them into the targets, but for their notes: a file of reductions is not
 * known by its name any more.
 */
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { asEtlError } from '../../core/errors.ts';
import { isNamed, type Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { gatheredLines, responseIn } from '../../store/raw/gather.ts';
import { rawPrefix } from '../../store/raw/raw.ts';
import type { State } from '../../store/state.ts';
import { newestAsked } from '../../store/tables/asked.ts';
import { fetchesByObject, insertMissing, pathOf } from '../../store/tables/fetches.ts';
import { adoptInstallation } from '../../store/tables/installation.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import { INSTALLATION } from '../../warehouse/settings.ts';
import type { AnswerColumn, AnswerRow } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';

/** Whether the state was restored, and no run has looked since for what it lacks. */
const MEMO = 'restored';

const RECORDED = `
  SELECT fetch_id, run_id, pipeline, cast(window_from AS varchar) AS window_from, cast(window_to AS varchar) AS window_to, method, url,
    attempt, cast(started_at AT TIME ZONE 'UTC' AS varchar) AS started_at, cast(finished_at AT TIME ZONE 'UTC' AS varchar) AS finished_at,
    status, content_type, bytes_received, bytes_decoded, sha256, raw_path, items, outcome, error_code, error_message,
    cast(pruned_at AT TIME ZONE 'UTC' AS varchar) AS pruned_at
  FROM etl.fetch ORDER BY fetch_id`;

const text = z.string().nullable();
const count = z.coerce.number();
const instant = z.string().transform((at) => isoTime(Date.parse(`${at.replace(' ', 'T')}Z`)));
const recorded = z.object({
  ...{ fetch_id: z.string(), run_id: z.string(), pipeline: z.string(), window_from: text, window_to: text },
  ...{ method: z.string(), url: z.string(), attempt: count, started_at: instant, finished_at: instant },
  ...{ status: count.nullable(), content_type: text, bytes_received: count, bytes_decoded: count, sha256: text },
  ...{ raw_path: text, items: count.nullable(), outcome: z.string(), error_code: text, error_message: text },
  pruned_at: instant.nullable(),
});

export function noteRestored(state: State, at: string): Promise<void> {
  return writeMemo(state, MEMO, true, at);
}

/** After a state was restored, or at the beginning of the first run after that where no target could be asked then: looks through the raw store, and asks the first target that can be asked. */
export async function recoverFetches(context: RunContext): Promise<void> {
  const { state, targets, clock, log } = context;
  if (!(await readMemo(state.db, MEMO, z.boolean()))) return;
  await recoverInstallation(context);
  for (const pipeline of context.pipelines.filter(isNamed)) await recoverGathered(context, pipeline);
  for (const target of targets)
    try {
      if (!(await target.exists())) continue;
      let found = 0;
      await target.stream(RECORDED, null, async (columns, batches) => {
        for await (const rows of batches) found += await insertMissing(state, rows.map(recordIn(columns)));
      });
      log.info(`${found} records of requests that the restored state lacked were found in ${target.name}`);
      return await writeMemo(state, MEMO, false, isoTime(clock.now()));
    } catch (thrown) {
      const { message, code } = asEtlError(thrown);
      log.warn(`${target.name} could not be asked for what the restored state lacks: ${message}`, { code });
    }
}

/** Which installation this is, as a warehouse that it has filled says. */
async function recoverInstallation({ state, targets, clock, log }: RunContext): Promise<void> {
  for (const target of targets)
    try {
      if (!(await target.exists())) continue;
      const { rows } = await target.query(`SELECT value FROM etl.setting WHERE name = '${INSTALLATION}'`, 1);
      const id = rows[0]?.[0];
      if (typeof id === 'string') await adoptInstallation(state, id, isoTime(clock.now()));
    } catch (thrown) {
      const { message, code } = asEtlError(thrown);
      log.warn(`${target.name} could not be asked which installation fills it: ${message}`, { code });
    }
}

/**
 * What is newer than the lake's newest slice may say what the lake does not have yet, and what is newer than all that is noted as asked is
 * noted when it is applied. To take an answer in twice changes nothing.
 */
async function recoverGathered(context: RunContext, pipeline: Pipeline): Promise<void> {
  const { raw, state, log } = context;
  const named = new Set<string>();
  for await (const { object } of fetchesByObject(state.db, pipeline.name)) named.add(object);
  const [slice, asked] = [await newestSlice(context, pipeline), await newestAsked(state.db, pipeline.name)];
  const since = asked !== null && asked < slice ? asked : slice;
  let found = 0;
  for await (const { name } of raw.place.list(rawPrefix(pipeline.name, 'gathered')))
    if (!named.has(name))
      try {
        const lines = (await gatheredLines(raw.place, name)).map(responseIn);
        const fetches = lines.flatMap(({ fetch }, i) => (fetch ? [{ ...fetch, raw_path: pathOf(name, i) }] : []));
        found += await insertMissing(state, fetches, (fetch) => fetch.finished_at > since);
      } catch {
        log.warn(`${raw.place.called(name)} is damaged: its answers are left out`, { pipeline: pipeline.name });
      }
  if (found > 0) log.info(`${pipeline.name}: ${found} records of requests were found in the raw store`);
}

/** A slice that holds nothing says nothing of what was taken in: it may stand there for what is held. */
async function newestSlice({ lake }: RunContext, { name }: Pipeline): Promise<string> {
  const slices = [...(await lake.slices(name)).values()];
  const known = slices.filter(({ content }) => content.rows > 0 || content.rejects > 0);
  return known.reduce((newest, { content: { fetched_at: at } }) => (at > newest ? at : newest), '');
}

function recordIn(columns: readonly AnswerColumn[]): (row: AnswerRow) => FetchRecord {
  return (row) => {
    const { pruned_at: at, ...fetch } = recorded.parse(
      Object.fromEntries(columns.map(({ name }, i) => [name, row[i]])),
    );
    return { ...fetch, ...(at === null ? {} : { pruned_at: at }) } as FetchRecord;
  };
}
