/** Log lines about what was not taken: one a reason and minute, with how many there were, so that a flood does not fill the log. */
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { foreignText } from '../../core/redact.ts';
import type { Deferral, Refusal } from './refusals.ts';

const LINE_EVERY_MS = 60_000;
const MOST_CHARACTERS = 100;

interface Logged {
  lineAtMs: number;
  /** Since that line. */
  count: number;
}

export class RefusalLog {
  private readonly log: Log;
  private readonly clock: Clock;
  /** There are some twenty reasons. */
  private readonly logged = new Map<Refusal | Deferral, Logged>();

  constructor(log: Log, clock: Clock) {
    this.log = log;
    this.clock = clock;
  }

  /** `example`: what the sender said of this one; only read when a line is written. */
  count(reason: Refusal | Deferral, example: () => Readonly<Record<string, string>>): void {
    const nowMs = this.clock.now();
    const known = this.logged.get(reason);
    const sinceMs = known === undefined ? LINE_EVERY_MS : nowMs - known.lineAtMs;
    // A clock that was set back must not silence the log.
    if (known !== undefined && sinceMs >= 0 && sinceMs < LINE_EVERY_MS) {
      known.count += 1;
      return;
    }
    this.line(reason, (known?.count ?? 0) + 1, example());
    this.logged.set(reason, { lineAtMs: nowMs, count: 0 });
  }

  /** Logs what has been counted since the last lines. */
  flush(): void {
    for (const [reason, known] of this.logged) {
      if (known.count > 0) this.line(reason, known.count, {});
      known.count = 0;
    }
  }

  private line(reason: string, count: number, example: Readonly<Record<string, string>>): void {
    const fields = Object.entries(example).map(([name, text]) => [name, foreignText(text, [], MOST_CHARACTERS)]);
    this.log.warn('push messages were not taken', { reason, count, ...Object.fromEntries(fields) });
  }
}
