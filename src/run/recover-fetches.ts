/**
 * What a state lacks that was restored from a backup, or begun empty: the records of requests since then. Each
 * publication wrote them into the targets, all but their notes: a file of reductions is not known by its name any more.
 */
import { z } from 'zod';
import { isoTime } from '../core/clock.ts';
import { asEtlError } from '../core/errors.ts';
import type { FetchRecord } from '../core/records.ts';
import { insertMissing } from '../store/fetches.ts';
import { readMemo, writeMemo } from '../store/memo.ts';
import type { State } from '../store/state.ts';
import type { AnswerColumn, AnswerRow } from '../warehouse/target.ts';
import type { RunContext } from './context.ts';

/** Whether the state was restored, and no run has looked since for what it lacks. */
const MEMO = 'restored';

const RECORDED = `
  SELECT fetch_id, run_id, pipeline, cast(window_from AS varchar) AS window_from, cast(window_to AS varchar) AS window_to, method, url,
    attempt, cast(started_at AT TIME ZONE 'UTC' AS varchar) AS started_at, cast(finished_at AT TIME ZONE 'UTC' AS varchar) AS finished_at,
    status, content_type, bytes_received, bytes_decoded, sha256, vault_path, items, outcome, error_code, error_message,
    cast(pruned_at AT TIME ZONE 'UTC' AS varchar) AS pruned_at
  FROM etl.fetch ORDER BY fetch_id`;

const text = z.string().nullable();
const count = z.coerce.number();
const instant = z.string().transform((at) => isoTime(Date.parse(`${at.replace(' ', 'T')}Z`)));
const recorded = z.object({
  ...{ fetch_id: z.string(), run_id: z.string(), pipeline: z.string(), window_from: text, window_to: text },
  ...{ method: z.string(), url: z.string(), attempt: count, started_at: instant, finished_at: instant },
  ...{ status: count.nullable(), content_type: text, bytes_received: count, bytes_decoded: count, sha256: text },
  ...{ vault_path: text, items: count.nullable(), outcome: z.string(), error_code: text, error_message: text },
  pruned_at: instant.nullable(),
});

export function noteRestored(state: State, at: string): Promise<void> {
  return writeMemo(state, MEMO, true, at);
}

/** At the beginning of the first run after a state was restored: asks the first target that can be asked. */
export async function recoverFetches({ state, targets, clock, log }: RunContext): Promise<void> {
  if (!(await readMemo(state.db, MEMO, z.boolean()))) return;
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

function recordIn(columns: readonly AnswerColumn[]): (row: AnswerRow) => FetchRecord {
  return (row) => {
    const { pruned_at: at, ...fetch } = recorded.parse(
      Object.fromEntries(columns.map(({ name }, i) => [name, row[i]])),
    );
    return { ...fetch, ...(at === null ? {} : { pruned_at: at }) } as FetchRecord;
  };
}
