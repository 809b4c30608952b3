/**
 * What stands is compared with what was sent, and each channel gets one message about all that is
 * new, lasts, or is gone. At the end of every run, and every few minutes in `serve`; one process at a time, so that nothing is sent twice.
 *
 * What was sent is written after it was delivered: killed in between, it is sent again rather than never. Nothing here fails a run.
 */
import type { AlertSettings } from '../../config/alerts.ts';
import { isoTime } from '../../core/clock.ts';
import { dayAt } from '../../core/days.ts';
import { asEtlError } from '../../core/errors.ts';
import { waitLock } from '../../store/locks.ts';
import { readMemo, writeMemo } from '../../store/tables/memo.ts';
import type { RunContext } from '../context.ts';
import { causesNow } from './causes.ts';
import { type Channel, channelsOf } from './channels.ts';
import { messageOf } from './message.ts';
import type { Unstarted } from './run-causes.ts';
import {
  type AlertState,
  alertState,
  isNothing,
  mayTry,
  NOTHING_SENT,
  newsFor,
  noticed,
  whenFailed,
  whenSent,
  withoutOld,
} from './sent.ts';

const MEMO = 'alerts';
/** Another process sends for about so long at the most: each channel has ten seconds, and they go out together. */
const LOCK_WAIT_MS = 15_000;
const LOCK_POLL_MS = 200;
/** Beyond it the oldest is forgotten. */
const MOST_UNSTARTED = 50;

/** `unstarted`: runs that were due and have no record. Never rejects: what goes wrong is logged. */
export async function sendAlerts(
  context: RunContext,
  settings: AlertSettings,
  unstarted: readonly Unstarted[] = [],
): Promise<void> {
  const { clock, locks, log, today, timeZone } = context;
  const channels = channelsOf(settings, clock);
  if (channels.length === 0) return;
  // A night that is reproduced says nothing about now.
  if (today !== dayAt(clock.now(), timeZone)) return;
  try {
    const lock = await waitLock(locks, 'alerts', 'alerts', clock, LOCK_WAIT_MS, LOCK_POLL_MS);
    // The process that has it for so long sends what we know as well, or the next one does.
    if (!lock) return log.warn('alerts are left to another process, which is sending them', { code: 'alerts_locked' });
    try {
      await tellUnderLock(context, settings, channels, unstarted);
    } finally {
      await lock.release();
    }
  } catch (thrown) {
    const { message, code } = asEtlError(thrown);
    log.error(`alerts could not be sent: ${message}`, { code });
  }
}

async function tellUnderLock(
  context: RunContext,
  settings: AlertSettings,
  channels: readonly Channel[],
  more: readonly Unstarted[],
): Promise<void> {
  const { clock, state } = context;
  const before = (await readMemo(state.db, MEMO, alertState)) ?? NOTHING_SENT;
  context.lake.reread();
  const known = { unstarted: withMore(before.unstarted, more), driftUntil: before.drift_until };
  const { causes, unstarted, driftUntil } = await causesNow(context, settings, known);
  const seen = noticed(before, causes, clock.now());
  const now = {
    ...seen,
    drift_until: driftUntil,
    unstarted: unstarted.map((u) => ({ ...u, pipelines: [...u.pipelines] })),
  };
  const sent = await sendToChannels(context, settings, channels, now);
  const names = channels.map(({ name }) => name);
  const after = withoutOld(sent, names, clock.now());
  if (JSON.stringify(after) !== JSON.stringify(before)) await writeMemo(state, MEMO, after, isoTime(clock.now()));
}

function withMore(before: readonly Unstarted[], more: readonly Unstarted[]): Unstarted[] {
  const all = new Map([...before, ...more].map((one) => [`${one.at} ${one.pipelines.join()}`, one]));
  return [...all.values()].slice(-MOST_UNSTARTED);
}

/** All at once: one that hangs must not make the others wait. */
async function sendToChannels(
  { clock, log }: RunContext,
  { title, remindHours }: AlertSettings,
  channels: readonly Channel[],
  state: AlertState,
): Promise<AlertState> {
  const nowMs = clock.now();
  const tried = await Promise.all(
    channels.map(async (channel) => {
      const news = newsFor(state, channel.name, remindHours, nowMs);
      if (isNothing(news) || !mayTry(state, channel.name, nowMs)) return null;
      try {
        await channel.send(messageOf(title, news, nowMs));
        log.info('an alert was sent', {
          channel: channel.name,
          new: news.begun.length,
          resolved: news.resolved.length,
        });
        return { channel, news, isSent: true };
      } catch (thrown) {
        const { message, code, hint } = asEtlError(thrown);
        log.warn(`${message}; it is tried again later`, { code, channel: channel.name, hint });
        return { channel, news, isSent: false };
      }
    }),
  );
  let after = state;
  for (const one of tried)
    if (one)
      after = one.isSent
        ? whenSent(after, one.channel.name, one.news, nowMs)
        : whenFailed(after, one.channel.name, nowMs);
  return after;
}
