/**
 * Shows progress: one live line for each pipeline on a terminal, plain lines elsewhere, nothing with --quiet.
 * The time left is what the windows so far took on average, which holds the pauses of the budget as well.
 */
import type { Clock } from '../../core/clock.ts';
import {
  type CallWait,
  NO_PROGRESS,
  type Progress,
  type ProgressBudget,
  type ProgressUnit,
  type WaitReason,
  type WindowDone,
} from '../../core/progress.ts';
import { counted } from './output.ts';
import type { Screen } from './screen.ts';

export interface ProgressOptions {
  readonly screen: Screen;
  /** Says a line that stays; about a pipeline where one is named. */
  readonly say: (text: string, fields?: { readonly pipeline: string }) => void;
  /** Whether lines are drawn over and over. */
  readonly isLive: boolean;
  readonly clock: Clock;
  readonly quiet: boolean;
}

interface Track {
  readonly pipeline: string;
  readonly windows: number;
  readonly unit: ProgressUnit;
  readonly beganMs: number;
  /** null where it makes no calls. */
  readonly budget: ProgressBudget | null;
  done: number;
  rows: number;
  changed: number;
  /** What it is at, beside its windows. */
  step: string;
  /** When it was last shown, in milliseconds since the epoch. */
  shownMs: number;
}

/** Live lines are drawn again at most this often. */
const REDRAW_MS = 100;
/** Plain lines end up in a file: one now and then is enough. */
const LINE_EVERY_MS = 10_000;

export function createProgress({ screen, say, isLive, clock, quiet }: ProgressOptions): Progress {
  if (quiet) return NO_PROGRESS;
  const tracks = new Map<string, Track>();
  /** By endpoint, those that a terminal shows. */
  const waits = new Map<string, { readonly wait: CallWait; readonly untilMs: number }>();
  let drawnMs = Number.NEGATIVE_INFINITY;

  const draw = () => {
    drawnMs = clock.now();
    for (const [endpoint, { untilMs }] of waits) if (untilMs <= drawnMs || tracks.size === 0) waits.delete(endpoint);
    const waiting = [...waits.values()].map(({ wait, untilMs }) => waitText({ ...wait, ms: untilMs - drawnMs }));
    screen.live([...[...tracks.values()].map((track) => lineOf(track, drawnMs)), ...waiting]);
  };
  return {
    begin(pipeline, windows, unit = 'window', budget) {
      const now = clock.now();
      const counts = { done: 0, rows: 0, changed: 0, step: '' };
      tracks.set(pipeline, { pipeline, windows, unit, beganMs: now, budget: budget ?? null, ...counts, shownMs: now });
      if (isLive) draw();
      else say(`${pipeline}: ${counted(windows, unit)} to ${TO_DO[unit]}`, { pipeline });
    },
    step(pipeline, what) {
      const track = tracks.get(pipeline);
      if (track === undefined) return;
      track.step = what;
      const now = clock.now();
      if (isLive) return draw();
      // What is quick needs no line for each of its steps.
      if (now - track.shownMs < LINE_EVERY_MS) return;
      track.shownMs = now;
      say(lineOf(track, now), { pipeline });
    },
    window(pipeline, done) {
      const track = tracks.get(pipeline);
      if (track === undefined) return;
      addTo(track, done);
      const now = clock.now();
      if (isLive) {
        if (now - drawnMs >= REDRAW_MS) draw();
      } else if (now - track.shownMs >= LINE_EVERY_MS) {
        track.shownMs = now;
        say(lineOf(track, now), { pipeline });
      }
    },
    end(pipeline) {
      const track = tracks.get(pipeline);
      if (track === undefined) return;
      tracks.delete(pipeline);
      // Without this line gone first, it would stand there twice for a moment.
      if (isLive) draw();
      say(endOf(track, clock.now()), { pipeline });
    },
    wait(wait) {
      // Without a pipeline's line nothing would ever take this one away.
      if (!isLive || tracks.size === 0) return say(waitText(wait));
      waits.set(wait.endpoint, { wait, untilMs: clock.now() + wait.ms });
      draw();
    },
    note: (text) => say(text),
  };
}

function addTo(track: Track, done: WindowDone): void {
  track.done += track.unit === 'row' ? done.rows : (done.units ?? 1);
  track.rows += done.rows;
  track.changed += done.changed;
}

function lineOf(track: Track, nowMs: number): string {
  const elapsedMs = nowMs - track.beganMs;
  const parts = [`${track.done.toLocaleString('en-US')}/${counted(track.windows, track.unit)}`];
  if (track.unit !== 'row') parts.push(counted(track.rows, 'row'));
  if (elapsedMs > 0 && track.rows > 0) parts.push(`${counted(Math.round((track.rows * 1000) / elapsedMs), 'row')}/s`);
  if (track.budget !== null) parts.push(...budgetText(track.budget, track.done));
  const left = track.windows - track.done;
  if (track.done > 0 && left > 0) parts.push(`about ${duration((elapsedMs / track.done) * left)} left`);
  if (track.step !== '') parts.push(track.step);
  return `${track.pipeline}: ${parts.join(', ')}`;
}

function budgetText(budget: ProgressBudget, done: number): string[] {
  if (budget.kind === 'night') return [`${counted(Math.max(0, budget.calls - done), 'call')} left in the budget`];
  const { calls, perSeconds } = budget;
  const left = budget.left();
  const span = SPANS[perSeconds] ?? `in ${perSeconds} s`;
  return left === null ? [] : [`${left.toLocaleString('en-US')} of ${counted(calls, 'call')} ${span} left`];
}

const TO_DO: Readonly<Record<ProgressUnit, string>> = {
  window: 'fetch',
  call: 'make',
  file: 'fetch',
  message: 'take in',
  answer: 'load again from the raw store',
  row: 'load',
};

const SPANS: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute', 3600: 'an hour' };

function endOf(track: Track, nowMs: number): string {
  const windows =
    track.done === track.windows
      ? counted(track.windows, track.unit)
      : `${track.done.toLocaleString('en-US')} of ${track.windows.toLocaleString('en-US')} ${track.unit}s`;
  const took = `took ${duration(nowMs - track.beganMs)}`;
  if (track.unit === 'row') return `${track.pipeline}: ${windows}, ${took}`;
  // What calls changed is known only when all of them are taken in together.
  const changed = track.unit === 'call' ? '' : ` ${counted(track.changed, 'slice')} changed,`;
  return `${track.pipeline}: ${windows}, ${counted(track.rows, 'row')},${changed} ${took}`;
}

const WHY: Readonly<Record<WaitReason, string>> = {
  'retry-after': 'the service asked for it (Retry-After)',
  'rate-limit': 'the service says that no call is left until then (X-RateLimit-Reset)',
  another: 'the service asked another run or command for it',
  budget: 'the budget of its calls is used up until then',
};

function waitText({ endpoint, ms, why }: CallWait): string {
  return `${endpoint}: waits ${duration(ms)}, since ${WHY[why]}`;
}

/** Seconds below two minutes, then minutes, then hours and minutes. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
