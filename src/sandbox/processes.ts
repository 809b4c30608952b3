/**
 * Process statuses: what became of an asynchronous request.
 *
 *   PENDING ─(processSeconds on the sandbox's clock)─▶ SUCCESS | FAILURE | TIMEOUT, forever
 *
 * The request takes effect when its process ends well, in the order of the requests. RETENTION_MS after its creation a
 * process is forgotten.
 */
import type { Json } from './json-text.ts';

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
  readonly id: string;
  readonly endsAt: number;
  /** Carries the request out. */
  readonly carryOut: (processId: string) => Outcome;
}

/** An end that was ordered instead of the one that the request would come to. */
export interface OrderedEnd {
  readonly status: 'FAILURE' | 'TIMEOUT';
  readonly errorMessage?: string;
}

export class Processes {
  readonly #processSeconds: number;
  #known: Process[] = [];
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
    this.#known.push(process);
    const endsAt = now + this.#processSeconds * 1000;
    this.#waiting.push({ id, endsAt, carryOut: ordered === undefined ? carryOut : () => ordered });
    return process;
  }

  /** Ends what is due, oldest first, and forgets what is old. Returns what has just ended. */
  advance(now: number): readonly Process[] {
    const due = this.#waiting.filter(({ endsAt }) => endsAt <= now);
    this.#waiting = this.#waiting.filter(({ endsAt }) => endsAt > now);
    const outcomes = new Map(due.map(({ id, carryOut }) => [id, carryOut(id)]));
    this.#known = this.#known
      .filter(({ createdAt }) => now - createdAt <= RETENTION_MS)
      .map((process) => {
        const outcome = outcomes.get(process.id);
        return outcome === undefined
          ? process
          : { ...process, outcome, entityId: outcome.entityId ?? process.entityId };
      });
    return this.#known.filter(({ id }) => outcomes.has(id));
  }

  get(id: string): Process | undefined {
    return this.#known.find((process) => process.id === id);
  }

  of(entityId: string, eventType: string): readonly Process[] {
    return this.#known.filter((process) => process.entityId === entityId && process.eventType === eventType);
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
