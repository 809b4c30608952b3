/** One call that tells all there are. */
import { replayVersions, type StoredAnswers } from '../merge/replay-versions.ts';
import { releaseWhole, takeWholes } from '../merge/wholes.ts';
import { versionStatus } from '../status/status-days.ts';
import { applyList, fetchList, planList, readListed } from './list-fetch.ts';
import type { Source } from './source.ts';

export const listSource: Source = {
  plan: (context, _engine, pipeline) => planList(context, pipeline),
  budget: ({ retailer }) => retailer.subscriptions.budget,
  run: fetchList,
  replay: (context, pipeline, replay) => replayVersions(context, pipeline, replay, stored),
  release: (session, pipeline, { held }) => releaseWhole(session, pipeline, held.content.fetch_id, applyList),
  async status(context, pipeline) {
    const known = await readListed(context, pipeline);
    const outcomes: Record<string, number> = known ? { listed: known.listed } : {};
    return versionStatus(context, pipeline, { outcomes, asked_at: known?.askedAt ?? null });
  },
};

const stored: StoredAnswers = {
  /** Of lists nothing is pending: every one counts but that which is held now. */
  async applied({ context }, pipeline) {
    const entries = [...(await context.lake.slices(pipeline.name)).values()];
    const held = new Set(entries.map((entry) => entry.held?.content.fetch_id));
    return ({ fetch_id: id }) => !held.has(id);
  },
  take: (session, pipeline, fetches, { place }) => takeWholes(session, pipeline, fetches, place, applyList),
};
