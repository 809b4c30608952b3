/** Answers of look-ups become the lake's content: as many as there are, in one commit. They stay pending until the lake has them. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dayAt } from '../../core/days.ts';
import { type Pipeline, readingOf } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { EanReject } from '../../extract/ean-list.ts';
import { HOPELESS } from '../../sources/batches.ts';
import { markApplied, pendingFetches } from '../../store/tables/fetches.ts';
import { observeRows } from '../merge/observing.ts';
import type { Session } from '../session.ts';
import type { Into, Response } from '../sources/source.ts';
import type { Applied } from '../tally.ts';
import { noteObserved } from './asked.ts';
import { askingOf } from './keys-calls.ts';
import { linesOf } from './lookup-lines.ts';

export interface Answers {
  /** In the order in which they came. */
  readonly fetches: readonly FetchRecord[];
  /** What of the list could not be asked. */
  readonly rejects: readonly EanReject[];
  /** Further files of what could not become a row. */
  readonly refusedFiles: readonly string[];
}

/** All answers that the lake does not have yet, with what of the list could not be asked; null where there is neither. */
export async function pendingAnswers(
  session: Session,
  pipeline: Pipeline,
  rejects: readonly EanReject[],
  folder: string,
): Promise<Response | null> {
  const { state, log } = session.context;
  const fetches = await pendingFetches(state.db, pipeline.name);
  if (fetches.length === 0 && rejects.length === 0) return null;
  const done = () =>
    markApplied(
      state,
      fetches.map(({ fetch_id: id }) => id),
    );
  if (isAllRefused(pipeline, fetches)) {
    log.warn(`${pipeline.name}: the service refused whatever was asked; that says nothing about the EANs`, {
      pipeline: pipeline.name,
    });
    await done();
    return null;
  }
  const { isNeverHeld } = askingOf(pipeline);
  return {
    async apply({ place, isReleased }) {
      const into = { place, isReleased: isReleased || isNeverHeld };
      const applied = await applyAnswers(session, pipeline, { fetches, rejects, refusedFiles: [] }, into, folder);
      // To take an answer in twice changes nothing; what is held stays pending.
      if (applied.held === 0) await done();
      return applied;
    },
  };
}

/** Refusals of the request itself look like refusals of every EAN in it (see RefusalWatch): nothing is learnt from them. */
function isAllRefused(pipeline: Pipeline, fetches: readonly FetchRecord[]): boolean {
  const { isRefusedByKey } = readingOf(pipeline);
  return isRefusedByKey && fetches.length >= HOPELESS && fetches.every(({ status }) => (status ?? 0) >= 300);
}

/** Stored answers of look-ups → what holds now of what was asked, and what did before. */
export async function applyAnswers(
  session: Session,
  pipeline: Pipeline,
  { fetches, rejects, refusedFiles }: Answers,
  into: Into,
  folder: string,
): Promise<Applied> {
  const { context, engine, ledger } = session;
  const lines = await linesOf(context, pipeline, fetches, folder);
  const refused = await refusedOf(session, rejects, lines.rejects, folder);
  const observed = {
    pipeline,
    parent: lines.parent,
    children: lines.children,
    refusedFiles: [...refused, ...refusedFiles],
    fetchId: newestOf(fetches) ?? ledger.runId,
    outDir: path.join(folder, 'slices'),
  };
  const applied = await observeRows(session, observed, into, (table) => noteObserved(engine, context, pipeline, table));
  const { duplicates, drift } = applied;
  return { ...applied, duplicates: duplicates + lines.duplicates, drift: [...lines.drift, ...drift] };
}

/** What of the list could not be asked, as rejects of today, in the file that has those of the answers. */
async function refusedOf(
  { context, ledger }: Session,
  rejects: readonly EanReject[],
  answered: { readonly file: string; readonly lines: number } | null,
  folder: string,
): Promise<string[]> {
  const files = answered !== null && answered.lines > 0 ? [answered.file] : [];
  if (rejects.length === 0) return files;
  const day = dayAt(context.clock.now(), context.timeZone);
  const file = path.join(folder, 'list-rejects.ndjson');
  const lines = rejects.map(({ line, reason, detail, raw }) =>
    JSON.stringify({ fetch_id: ledger.runId, item: line, day, reason, detail, raw }),
  );
  await writeFile(file, `${lines.join('\n')}\n`);
  return [...files, file];
}

function newestOf(fetches: readonly FetchRecord[]): string | undefined {
  return fetches.reduce<string | undefined>(
    (newest, { fetch_id: id }) => (newest === undefined || id > newest ? id : newest),
    undefined,
  );
}
