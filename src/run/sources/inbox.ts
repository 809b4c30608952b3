/** What was pushed to the receiver and waits. */
import { assert } from '../../core/errors.ts';
import { inboxSize } from '../../store/inbox.ts';
import { eventStatus } from '../status/status-days.ts';
import { drainInbox, planInbox, replayInbox } from './inbox-drain.ts';
import type { Source } from './source.ts';

export const inboxSource: Source = {
  plan: (context, _engine, pipeline) => planInbox(context, pipeline),
  budget: () => null,
  run: (session, _partners, pipeline) => drainInbox(session, pipeline),
  replay: (context, pipeline, { command, range }) => replayInbox(context, pipeline, command, range),
  async release(_session, { name }) {
    assert(false, `${name} is never held: messages only come`);
  },
  /** Of messages nobody knows whether more should have come. */
  async status(context, pipeline) {
    const newest = [...(await context.lake.slices(pipeline.name)).keys()].at(-1) ?? null;
    const inbox = await inboxSize(context.state.db);
    return { ...(await eventStatus(context, pipeline)), newest, days_behind: null, inbox };
  },
};
