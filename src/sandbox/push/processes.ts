/**
 * Process statuses: what became of an asynchronous request.
 *
 *   PENDING ─(processSeconds on the sandbox's clock)─▶ SUCCESS | FAILURE | TIMEOUT, forever
 *
 * The request takes effect when its process ends well, in the order of the requests. RETENTION_MS after its creation a
 * process is forgotten.
 */
import type { Json } from '../http/json-text.ts';

const RETENTION_MS = 48 * 3_600_000;

export type EventType =
  | 'CREATE_SUBSCRIPTION'
  | 'UPDATE_SUBSCRIPTION'
  | 'DELETE_SUBSCRIPTION'
  | 'SEND_SUBSCRIPTION_TST_MSG';

export type EndStatus = 'SUCCESS' | 'FAILURE' | 'TIMEOUT';

/** What an ended process says of itself. */
export interface Outcome {
  readonly status: EndStatus;
  readonly errorMessage?: string;
  /** What the process was about; of a creation it is known only now. */
  readonly entityId?: string;
}

export interface Process {
  readonly id: string;
  readonly eventType: EventType;
  readonly description: string;
  readonly createdAt: number;
  /** undefined while it is pending. */
  readonly outcome: Outcome | undefined;
  /** Known from the start for everything but creations. */
  readonly entityId: string | undefined;
}

interface Waiting {
  readonly process: Process;
  readonly endsAt: number;
  /** Carries the request out, at the time that is its end. */
  readonly carryOut: (processId: string, endedAt: number) => Outcome;
}

/** An end that was ordered instead of the one that the request would come to. */
export interface OrderedEnd {
  readonly status: 'FAILURE' | 'TIMEOUT';
  readonly errorMessage?: string;
}

export class Processes {
  readonly #processSeconds: number;
  /** By id, oldest first. */
  readonly #known = new Map<string, Process>();
  #waiting: Waiting[] = [];
  #ordered: OrderedEnd[] = [];
  #started = 0;

  constructor(processSeconds: number) {
    this.#processSeconds = processSeconds;
  }

  /** The next process that is started ends so, whatever it was about. */
  order(end: OrderedEnd): void {
    this.#ordered.push(end);
  }

  start(
    request: Pick<Process, 'eventType' | 'description' | 'entityId'>,
    now: number,
    carryOut: Waiting['carryOut'],
  ): Process {
    const id = String(1_000_000 + ++this.#started);
    const ordered = this.#ordered.shift();
    const process: Process = { ...request, id, createdAt: now, outcome: undefined };
    this.#known.set(id, process);
    const endsAt = now + this.#processSeconds * 1000;
    this.#waiting.push({ process, endsAt, carryOut: ordered === undefined ? carryOut : () => ordered });
    return process;
  }

  /** Ends what is due, one after the other, and reports each before the next one ends; then forgets what is old. */
  advance(now: number, report: (ended: Process, endedAt: number) => void): void {
    const due = this.#waiting.filter(({ endsAt }) => endsAt <= now).sort((a, b) => a.endsAt - b.endsAt);
    if (due.length > 0) this.#waiting = this.#waiting.filter(({ endsAt }) => endsAt > now);
    for (const { process, endsAt, carryOut } of due) {
      const outcome = carryOut(process.id, endsAt);
      const ended: Process = { ...process, outcome, entityId: outcome.entityId ?? process.entityId };
      this.#known.set(process.id, ended);
      report(ended, endsAt);
    }
    for (const { id, createdAt } of this.#known.values()) if (now - createdAt > RETENTION_MS) this.#known.delete(id);
  }

  get(id: string): Process | undefined {
    return this.#known.get(id);
  }

  of(entityId: string, eventType: string): readonly Process[] {
    return [...this.#known.values()].filter(
      (process) => process.entityId === entityId && process.eventType === eventType,
    );
  }
}

/** `id` as a number up to version 4, `processStatusId` as text from version 5 on; a link as long as it is pending. */
export function processJson(process: Process, version: number, createTimestamp: string, address: string): Json {
  const { id, eventType, description, outcome, entityId } = process;
  return {
    ...(version <= 4 ? { id: Number(id) } : { processStatusId: id }),
    entityId,
    eventType,
    description,
    status: outcome?.status ?? 'PENDING',
    errorMessage: outcome?.errorMessage,
    createTimestamp,
    links: outcome === undefined ? [{ rel: 'self', href: address, method: 'GET' }] : undefined,
  };
}
