/**
 * What was sent of which cause through which channel, and what is to be sent now. Pure; the state keeps it.
 *
 * Of a cause and a channel:
 *   unsent ─ sent ─▶ sent ─ lasts for remindHours ─▶ sent again
 *                     └─ gone ─▶ to be sent as resolved ─ sent ─▶ quiet until QUIET_MS after it was last sent
 * A cause that goes before it was sent is forgotten; one that comes back while it is quiet is sent when the quiet is over. So what flaps
 * is sent some times a day, and not a hundred. A channel that is down is behind the others and catches up alone.
 */
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { type Cause, causeShape, isEvent } from './cause.ts';

const instant = z.iso.datetime();
const known = z.object({
  cause: causeShape,
  /** Since when it is no longer there; null: it is. Of an event: since when it is known. */
  gone_at: instant.nullable(),
  /** How often it came back. */
  returned: z.int(),
  /** By channel: when it was last sent as being there. */
  sent: z.record(z.string(), instant),
  /** By channel: before then it is not sent anew. */
  quiet_until: z.record(z.string(), instant),
});
export const alertState = z.object({
  causes: z.record(z.string(), known),
  /** Keys of events that were seen, the newest last. */
  events: z.array(z.string()),
  drift_until: z.string().nullable(),
  unstarted: z.array(z.object({ pipelines: z.array(z.string()), at: instant, code: z.string() })),
  /** By channel: how often in a row nothing could be delivered, and when it is tried again. */
  failing: z.record(z.string(), z.object({ times: z.int(), next_at: instant })),
});
export type AlertState = z.infer<typeof alertState>;
export type KnownCause = z.infer<typeof known>;

export const NOTHING_SENT: AlertState = {
  causes: {},
  events: [],
  drift_until: null,
  unstarted: [],
  failing: {},
};

/** What one message says. */
export interface News {
  readonly begun: readonly KnownCause[];
  readonly lasting: readonly KnownCause[];
  readonly resolved: readonly KnownCause[];
}

const HOUR_MS = 3_600_000;
const QUIET_MS = 6 * HOUR_MS;
/** An event that could not be sent through a channel within this is old. */
const EVENT_MS = 7 * 24 * HOUR_MS;
const MOST_EVENTS = 2000;
const LONGEST_PAUSE_MS = HOUR_MS;

/** The state with what is there now. */
export function noticed(state: AlertState, causes: readonly Cause[], nowMs: number): AlertState {
  const now = isoTime(nowMs);
  const seen = new Set(state.events);
  const next: Record<string, KnownCause> = {};
  for (const [key, entry] of Object.entries(state.causes)) {
    const isOver = !isEvent(entry.cause) && !causes.some((cause) => cause.key === key);
    next[key] = isOver && entry.gone_at === null ? { ...entry, gone_at: now } : entry;
  }
  for (const cause of causes) {
    const before = next[cause.key];
    const isLasting = before?.gone_at === null;
    if (isLasting) next[cause.key] = { ...before, cause: { ...cause, since: before.cause.since } };
    if (isLasting || seen.has(cause.key)) continue;
    if (isEvent(cause)) seen.add(cause.key);
    const gone_at = isEvent(cause) ? now : null;
    const returned = before ? before.returned + 1 : 0;
    next[cause.key] = { sent: {}, quiet_until: {}, ...before, cause, gone_at, returned };
  }
  return { ...state, causes: next, events: [...seen].slice(-MOST_EVENTS) };
}

/** What is to be sent through the channel now. */
export function newsFor(state: AlertState, channel: string, remindHours: number, nowMs: number): News {
  const all = Object.values(state.causes);
  const isThere = ({ cause, gone_at }: KnownCause) => gone_at === null || isEvent(cause);
  const isQuiet = (entry: KnownCause) => Date.parse(entry.quiet_until[channel] ?? isoTime(0)) > nowMs;
  const sentMs = (entry: KnownCause) => Date.parse(entry.sent[channel] ?? '');
  const isDueAgain = (entry: KnownCause) => nowMs - sentMs(entry) >= remindHours * HOUR_MS;
  return {
    begun: all.filter((e) => isThere(e) && !e.sent[channel] && !isQuiet(e)),
    lasting: all.filter((e) => e.gone_at === null && e.sent[channel] && isDueAgain(e)),
    resolved: all.filter((e) => !isThere(e) && e.sent[channel]),
  };
}

export function isNothing({ begun, lasting, resolved }: News): boolean {
  return begun.length + lasting.length + resolved.length === 0;
}

/** Whether the channel may be tried now. */
export function mayTry(state: AlertState, channel: string, nowMs: number): boolean {
  const failing = state.failing[channel];
  // A clock that was set back must not silence it for longer than a pause lasts.
  const waitMs = failing ? Date.parse(failing.next_at) - nowMs : 0;
  return waitMs <= 0 || waitMs > LONGEST_PAUSE_MS;
}

/** The state once it has been sent through the channel. */
export function whenSent(state: AlertState, channel: string, news: News, nowMs: number): AlertState {
  const causes = { ...state.causes };
  const now = isoTime(nowMs);
  for (const { cause } of [...news.begun, ...news.lasting]) {
    const entry = causes[cause.key]!;
    causes[cause.key] = { ...entry, sent: { ...entry.sent, [channel]: now } };
  }
  for (const { cause } of news.resolved) {
    const entry = causes[cause.key]!;
    const { [channel]: last = now, ...sent } = entry.sent;
    const quiet_until = { ...entry.quiet_until, [channel]: isoTime(Date.parse(last) + QUIET_MS) };
    causes[cause.key] = { ...entry, sent, quiet_until };
  }
  const { [channel]: _, ...failing } = state.failing;
  return { ...state, causes, failing };
}

/** The state once the channel has failed: it is tried again after 1, 2, 4 … minutes, and at the latest after an hour. */
export function whenFailed(state: AlertState, channel: string, nowMs: number): AlertState {
  const times = (state.failing[channel]?.times ?? 0) + 1;
  const pauseMs = Math.min(60_000 * 2 ** Math.min(times - 1, 10), LONGEST_PAUSE_MS);
  return { ...state, failing: { ...state.failing, [channel]: { times, next_at: isoTime(nowMs + pauseMs) } } };
}

/** The state without what nobody needs to know any more. `channels`: all there are. */
export function withoutOld(state: AlertState, channels: readonly string[], nowMs: number): AlertState {
  const isNeeded = ({ cause, gone_at, sent, quiet_until }: KnownCause) => {
    if (gone_at === null) return true;
    const isSentTo = (channel: string) => sent[channel] !== undefined;
    if (isEvent(cause)) return !channels.every(isSentTo) && nowMs - Date.parse(gone_at) < EVENT_MS;
    return channels.some((channel) => isSentTo(channel) || Date.parse(quiet_until[channel] ?? '') > nowMs);
  };
  const of = <T>(all: Readonly<Record<string, T>>, isKept: (name: string, one: T) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([name, one]) => isKept(name, one)));
  return {
    ...state,
    causes: of(state.causes, (_, entry) => isNeeded(entry)),
    failing: of(state.failing, (name) => channels.includes(name)),
  };
}
