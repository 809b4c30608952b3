/**
 * Making the slices of versions afresh from a day on: each stands on the one before, so they are made one behind the other in a
 * lake of their own, on top of what lies before that day, and become the lake's in one commit. Until then nothing is changed.
 */
import path from 'node:path';
import type { Day } from '../../core/days.ts';
import { childrenOf, isStamped, type Pipeline } from '../../core/pipeline.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { emptySlice } from '../../engine/content.ts';
import { Lake, type SliceChange } from '../../lake/lake.ts';
import { openSqliteState } from '../../store/sqlite/state.ts';
import type { Session } from '../session.ts';
import { sliceProblem } from '../verify/slice-problem.ts';
import type { VersionPlace } from './current.ts';

/**
 * Calls `work` with the place to apply to; what is there afterwards replaces the slices from that day on. Returns how many differ; null,
 * and nothing is replaced, where `work` says that it was not all.
 */
export async function remake(
  session: Session,
  pipeline: Pipeline,
  from: Day,
  work: (place: VersionPlace) => Promise<boolean>,
): Promise<number | null> {
  const { context } = session;
  const root = path.join(session.work, `remade-${pipeline.name}`);
  const state = await openSqliteState(path.join(root, 'state.db'));
  try {
    const scratch = new Lake({ root, state, pipelines: context.pipelines });
    if (!(await work({ lake: scratch, under: { lake: context.lake, before: from } }))) return null;
    return await takeOver(session, pipeline, from, scratch);
  } finally {
    await state.close();
  }
}

/** The slices of the scratch lake become the lake's, in one commit. */
async function takeOver(session: Session, pipeline: Pipeline, from: Day, scratch: Lake): Promise<number> {
  const { context } = session;
  const changes: SliceChange[] = [];
  for (const one of [pipeline, ...childrenOf(context.pipelines, pipeline)]) {
    const [before, made] = [await context.lake.slices(one.name), await scratch.slices(one.name)];
    for (const [day, entry] of made)
      if (
        isStamped(one) || // since when its rows are so is not part of its digest
        before.get(day)?.content.digest !== entry.content.digest ||
        (await isDamaged(session, one, before.get(day)))
      )
        changes.push(...changesTo(one, scratch, entry, before.has(day)));
    for (const [day, { content }] of before)
      if (day >= from && !made.has(day) && (content.rows > 0 || content.rejects > 0))
        changes.push({
          kind: 'replace',
          pipeline: one.name,
          content: emptySlice(one, { day, fetch_id: content.fetch_id, fetched_at: content.fetched_at }),
          files: { file: null, rejectsFile: null },
        });
  }
  await context.lake.commit(changes);
  await context.step('lake-committed', pipeline.name);
  return changes.length;
}

/** What makes a slice that of the scratch lake: with the mark of an item that it lost, and with what is held of it. */
function changesTo({ name }: Pipeline, scratch: Lake, entry: SliceEntry, isKnown: boolean): SliceChange[] {
  const { content, moved, held } = entry;
  const files = { file: scratch.rowsFile(entry), rejectsFile: scratch.rejectsFile(entry) };
  const kind = moved && isKnown ? 'amend' : 'replace';
  const changes: SliceChange[] = [{ kind, pipeline: name, content, files }];
  if (held)
    changes.push({ kind: 'hold', pipeline: name, content: held.content, files: scratch.heldFiles(held), hold: held });
  return changes;
}

async function isDamaged(
  { engine, context }: Session,
  pipeline: Pipeline,
  entry: SliceEntry | undefined,
): Promise<boolean> {
  return entry !== undefined && (await sliceProblem(engine, context.lake, pipeline, entry)) !== null;
}
