/** Files and lists are each the whole of what there is: one is applied behind the other. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import type { Session } from '../session.ts';
import type { VersionPlace } from './held.ts';
import type { ObservingOptions, ObservingResult } from './observing.ts';

type ApplyWhole = (
  session: Session,
  pipeline: Pipeline,
  fetch: FetchRecord,
  folder: string,
  options: ObservingOptions,
) => Promise<ObservingResult>;

/** Applies stored ones, in their order, in a place where nothing of these days is known. */
export async function takeWholes(
  session: Session,
  pipeline: Pipeline,
  fetches: readonly FetchRecord[],
  place: VersionPlace,
  apply: ApplyWhole,
): Promise<void> {
  for (const [i, fetch] of fetches.entries()) {
    const folder = path.join(session.work, `replay-${pipeline.name}-${i}`);
    await apply(session, pipeline, fetch, folder, { place, isReleased: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Applies the one that is held. */
export async function releaseWhole(
  session: Session,
  pipeline: Pipeline,
  heldFetchId: string,
  apply: ApplyWhole,
): Promise<void> {
  const folder = path.join(session.work, `release-${pipeline.name}`);
  await mkdir(folder, { recursive: true });
  for await (const fetch of session.context.vault.fetchesWith([heldFetchId]))
    await apply(session, pipeline, fetch, folder, { isReleased: true });
}
