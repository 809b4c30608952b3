/**
 * Faults of the delivery: what happens to messages on their way, without the world being any different. Plain JSON, added
 * like the faults of calls, and known from them by `endpoint: 'push'`.
 *
 * A fault waits until `after` messages that it fits were made, and then strikes the next `times`. One message meets at most
 * one fault of each kind; a further one waits for the next message. Forged messages meet none.
 */
import { EtlError } from '../../core/errors.ts';

export interface PushFaultAim {
  readonly endpoint: 'push';
  /** Only messages about this; all unless given. */
  readonly resource?: 'PROCESS_STATUS' | 'SHIPMENT';
  readonly subscriptionId?: string;
  /** How many messages it strikes; 1 unless given. */
  readonly times?: number;
  /** How many that it fits it lets pass first; 0 unless given. */
  readonly after?: number;
}

export type PushFault = PushFaultAim &
  (
    | /** Its first attempt is so many at once, byte for byte the same. */ {
        readonly kind: 'copies';
        readonly copies: number;
      }
    /** It is never sent, and counts as dropped. */
    | { readonly kind: 'lose' }
    /** Its first attempt comes so much later. */
    | { readonly kind: 'delay'; readonly seconds: number }
    /** The receiver answers, and the service does not see it, at the first so many attempts (1 unless given): so it tries again. */
    | { readonly kind: 'lose-answer'; readonly attempts?: number }
  );

/** What happens to one message. */
export interface PushMishaps {
  readonly copies: number;
  readonly isLost: boolean;
  readonly delayMs: number;
  readonly answersToLose: number;
}

export const NO_MISHAPS: PushMishaps = { copies: 1, isLost: false, delayMs: 0, answersToLose: 0 };

/** What a fault is aimed by. */
export interface PushFaultTarget {
  readonly resource: string;
  readonly subscriptionId: string;
}

type Kind = PushFault['kind'];

/** The number that a fault of a kind needs, if any, and its bounds. */
const NUMBERS: Readonly<
  Record<Kind, { readonly member: string; readonly least: number; readonly most: number } | null>
> = {
  copies: { member: 'copies', least: 2, most: 1000 },
  lose: null,
  delay: { member: 'seconds', least: 0, most: 1e9 },
  'lose-answer': { member: 'attempts', least: 1, most: 5 },
};

const RESOURCES: readonly unknown[] = [undefined, 'PROCESS_STATUS', 'SHIPMENT'];

function refused(message: string, hint: string): EtlError {
  return new EtlError('usage', 'bad_fault', message, { hint });
}

function checkedPushFault(fault: PushFault): PushFault {
  const { kind, resource, times = 1, after = 0 } = fault;
  const needed = NUMBERS[kind];
  if (needed === undefined)
    throw refused(`"${kind}" is no kind of fault of a push`, `one of ${Object.keys(NUMBERS).join(', ')}`);
  if (!RESOURCES.includes(resource))
    throw refused(`fault "${kind}": resource "${resource}" is not pushed`, 'PROCESS_STATUS or SHIPMENT');
  if (times < 1 || after < 0) throw refused(`fault "${kind}": impossible count`, 'times is 1 or more, after 0 or more');
  if (needed === null) return fault;
  const { member, least, most } = needed;
  const value: unknown = Reflect.get(fault, member) ?? (kind === 'lose-answer' ? 1 : undefined);
  if (typeof value !== 'number' || !(value >= least && value <= most))
    throw refused(`fault "${kind}": ${member} is not accepted`, `a number from ${least} to ${most}`);
  return fault;
}

interface Waiting {
  readonly fault: PushFault;
  toPass: number;
  toStrike: number;
}

export class PushFaults {
  #waiting: Waiting[] = [];

  /** Refuses (usage) what is no fault of a push. */
  add(fault: PushFault): void {
    this.#waiting.push({ fault: checkedPushFault(fault), toPass: fault.after ?? 0, toStrike: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** What happens to the message that is being made; counts it. */
  strike({ resource, subscriptionId }: PushFaultTarget): PushMishaps {
    if (this.#waiting.length === 0) return NO_MISHAPS;
    const struck = new Map<Kind, PushFault>();
    for (const waiting of this.#waiting) {
      const { fault } = waiting;
      if ((fault.resource ?? resource) !== resource || (fault.subscriptionId ?? subscriptionId) !== subscriptionId)
        continue;
      if (waiting.toPass > 0) waiting.toPass--;
      else if (!struck.has(fault.kind)) {
        struck.set(fault.kind, fault);
        waiting.toStrike--;
      }
    }
    this.#waiting = this.#waiting.filter(({ toStrike }) => toStrike > 0);
    return [...struck.values()].reduce(withFault, NO_MISHAPS);
  }
}

function withFault(mishaps: PushMishaps, fault: PushFault): PushMishaps {
  switch (fault.kind) {
    case 'copies':
      return { ...mishaps, copies: fault.copies };
    case 'lose':
      return { ...mishaps, isLost: true };
    case 'delay':
      return { ...mishaps, delayMs: fault.seconds * 1000 };
    case 'lose-answer':
      return { ...mishaps, answersToLose: fault.attempts ?? 1 };
  }
}
