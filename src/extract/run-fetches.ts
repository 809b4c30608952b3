/** The fetch records of one run, without reading those of others: ids say when they were born. */
import path from 'node:path';
import { isoTime } from '../core/clock.ts';
import { bornMs } from '../core/ids.ts';
import type { FetchRecord, RunRecord } from '../core/records.ts';
import { namesIn } from '../disk/atomic.ts';
import { fetchesOf, RUN_RECORDS } from './fetch-order.ts';

/** The clock may have been set in a run. */
const SLACK_MS = 60_000;

/**
 * Of one pipeline, oldest first. `vaultRoot` is the folder of the vault; `untilMs` counts where the run has not ended. `warn` is told of
 * records that are torn.
 */
export async function* fetchesOfRun(
  vaultRoot: string,
  pipeline: string,
  run: Pick<RunRecord, 'run_id' | 'started_at' | 'ended_at'>,
  untilMs: number,
  warn: (message: string) => void,
): AsyncGenerator<FetchRecord> {
  const [fromMs, toMs] = [Date.parse(run.started_at) - SLACK_MS, Date.parse(run.ended_at ?? '') || untilMs];
  const isOurs = (name: string) => {
    if (name.endsWith(RUN_RECORDS)) return name === `${run.run_id}${RUN_RECORDS}`;
    const ms = bornMs(path.basename(name, '.json'));
    return ms >= fromMs && ms <= toMs + SLACK_MS;
  };
  const folder = path.join(vaultRoot, pipeline, 'fetches');
  const [first, last] = [fromMs, toMs].map((ms) => isoTime(ms).slice(0, 7)) as [string, string];
  for (const month of (await namesIn(folder)).sort()) {
    if (month < first || month > last) continue;
    const names = (await namesIn(path.join(folder, month))).filter(isOurs).sort();
    for await (const fetch of fetchesOf(path.join(folder, month), names, warn))
      if (fetch.run_id === run.run_id) yield fetch;
  }
}
