/** What is said of causes: a subject, plain text, and the same as JSON. Nothing in it but what a cause holds. */
import { isoTime } from '../../core/clock.ts';
import { CAUSE_KINDS, type CauseKind } from './cause.ts';
import type { KnownCause, News } from './sent.ts';

export interface AlertMessage {
  readonly subject: string;
  /** Lines, without a line break at the end. */
  readonly text: string;
  readonly document: AlertDocument;
}

/** What a generic webhook is sent. */
export interface AlertDocument {
  readonly version: 1;
  readonly title: string;
  /** `firing` when something is new or lasts, `resolved` when everything in it is gone. */
  readonly status: 'firing' | 'resolved' | 'test';
  readonly sent_at: string;
  readonly text: string;
  /** Of the causes that are left out of a long message. */
  readonly left_out: number;
  readonly causes: readonly (KnownCause['cause'] & {
    readonly state: 'new' | 'lasting' | 'resolved';
    readonly resolved_at: string | null;
  })[];
}

/** Of each state; of a hundred held days ten say what has happened. */
const MOST_SHOWN = 10;

const WORDS: Readonly<Record<CauseKind, string>> = {
  run_failed: 'run failed',
  refused: 'calls refused',
  slice_held: 'slice held',
  freshness_breached: 'late',
  push_missing: 'push missing',
  drift_seen: 'drift',
};

export function messageOf(title: string, news: News, nowMs: number): AlertMessage {
  const { begun, lasting, resolved } = news;
  const isFiring = begun.length + lasting.length > 0;
  const parts = [
    part('New', begun, linesOf),
    part('Still so', lasting, linesOf),
    part('Resolved', resolved, ({ cause, gone_at }) => [`- ${cause.what}; gone at ${minute(gone_at ?? cause.since)}`]),
  ];
  const subject = `[${title}] ${isFiring ? kindsOf([...begun, ...lasting]) : `resolved: ${kindsOf(resolved)}`}`;
  const text = parts.filter((one) => one !== '').join('\n\n');
  const listed = (state: 'new' | 'lasting' | 'resolved', all: readonly KnownCause[]) =>
    all.slice(0, MOST_SHOWN).map(({ cause, gone_at }) => ({
      ...cause,
      state,
      resolved_at: state === 'resolved' ? gone_at : null,
    }));
  const causes = [...listed('new', begun), ...listed('lasting', lasting), ...listed('resolved', resolved)];
  const left_out = begun.length + lasting.length + resolved.length - causes.length;
  const status = isFiring ? 'firing' : 'resolved';
  return { subject, text, document: { version: 1, title, status, sent_at: isoTime(nowMs), text, left_out, causes } };
}

/** What `doctor --alert` sends. */
export function testMessage(title: string, nowMs: number): AlertMessage {
  const text = 'This is a test: alerts of partner-etl arrive here. Nothing is wrong.';
  const document = {
    version: 1,
    title,
    status: 'test',
    sent_at: isoTime(nowMs),
    text,
    left_out: 0,
    causes: [],
  } as const;
  return { subject: `[${title}] test`, text, document };
}

function part(heading: string, all: readonly KnownCause[], lines: (entry: KnownCause) => string[]): string {
  if (all.length === 0) return '';
  const more = all.length - MOST_SHOWN;
  const rest = more > 0 ? [`- and ${more} more: partner-etl status lists them`] : [];
  return [heading, ...all.slice(0, MOST_SHOWN).flatMap(lines), ...rest].join('\n');
}

function linesOf({ cause, returned }: KnownCause): string[] {
  const again = returned > 0 ? `; it came back ${returned === 1 ? 'once' : `${returned} times`}` : '';
  return [
    `- ${cause.what} (since ${minute(cause.since)}${again})`,
    `  means: ${cause.means}`,
    `  look: ${cause.look}`,
    `  fix: ${cause.fix}`,
  ];
}

/** `2 slice held, run failed`. */
function kindsOf(entries: readonly KnownCause[]): string {
  const counts = CAUSE_KINDS.flatMap((kind) => {
    const count = entries.filter(({ cause }) => cause.kind === kind).length;
    return count === 0 ? [] : [count === 1 ? WORDS[kind] : `${count} ${WORDS[kind]}`];
  });
  return counts.join(', ');
}

/** `2026-03-01 05:31 UTC`. */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}
