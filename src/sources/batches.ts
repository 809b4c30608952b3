/**
 * Questions in batches, and what to do when a batch is refused as a whole: the questions at fault are found, and the rest is
 * answered all the same.
 */
import { EtlError } from '../core/errors.ts';

/** What a batch is made of: an EAN stands in it once. */
interface Keyed {
  readonly ean: string;
}

/**
 * Batches of at most `size` questions, in the order of the questions as far as it goes. Within a batch an EAN stands once, so
 * that its answer is found by the EAN alone; every batch is full but the last ones, which hold what is asked in several ways.
 *
 * The first batch that has room and not this EAN takes a question. So the EANs of an open batch are always among those of the open batch
 * before it, only the foremost can become full, and the next place of an EAN is behind its last.
 */
export class Batches<Q extends Keyed> {
  private readonly size: number;
  private readonly open: Q[][] = [];
  /** Number of the foremost open batch. */
  private foremost = 0;
  /** Number of the last batch that an EAN went into, while that is open. */
  private readonly last = new Map<string, number>();

  constructor(size: number) {
    this.size = size;
  }

  /** Takes questions; yields the batches that become full. */
  *take(questions: Iterable<Q>): Generator<Q[], void, undefined> {
    const { open, last, size } = this;
    for (const question of questions) {
      const number = Math.max(this.foremost, (last.get(question.ean) ?? -1) + 1);
      last.set(question.ean, number);
      const batch = open[number - this.foremost];
      if (batch) batch.push(question);
      else open.push([question]);
      if (open[0]!.length < size) continue;
      const full = open.shift()!;
      for (const { ean } of full) if (last.get(ean) === this.foremost) last.delete(ean);
      this.foremost++;
      yield full;
    }
  }

  /** Those that are not full. */
  rest(): readonly Q[][] {
    return this.open;
  }
}

/** All batches of questions that are there. */
export function* batchesOf<Q extends Keyed>(questions: Iterable<Q>, size: number): Generator<Q[], void, undefined> {
  const batches = new Batches<Q>(size);
  yield* batches.take(questions);
  yield* batches.rest();
}

/** How a call came out. */
export type AskOutcome = { readonly kind: 'answered' } | ({ readonly kind: 'refused' } & Refusal);

/** What the service said when it refused a call; made by `refusalOf`. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
  /** EANs of the batch that it names as the ones at fault. */
  readonly named: readonly string[];
  /** Its reason for a single EAN, where it gives one. */
  readonly reasons?: ReadonlyMap<string, string>;
}

export interface RefusedQuestion<Q> {
  readonly question: Q;
  readonly status: number;
  readonly reason: string;
}

export type Ask<Q> = (questions: readonly Q[]) => Promise<AskOutcome>;

/** Questions refused one by one before any call of the run was answered, after which the run gives up. */
export const HOPELESS = 20;

/** What the batches of one run know together: whether the service answers at all. */
export class RefusalWatch {
  private isAnswered = false;
  private refusedAlone = 0;

  answered(): void {
    this.isAnswered = true;
  }

  /** Errors: `failed/everything_refused`. */
  refused({ status, reason }: Refusal): void {
    if (this.isAnswered) return;
    this.refusedAlone++;
    if (this.refusedAlone < HOPELESS) return;
    throw new EtlError(
      'failed',
      'everything_refused',
      `the service refused each of the first ${HOPELESS} EANs with ${status}: ${reason}`,
      {
        hint: 'the request itself seems to be wrong: compare path, version, media types and the name of the price field in the settings with what the service documents',
      },
    );
  }
}

/**
 * Asks a batch until each of its questions is answered or refused alone; returns the refused ones. Named EANs are taken out at
 * once and the rest is asked again in one call; without names the batch is split in halves. Errors: those of `ask`, and
 * `failed/everything_refused`.
 */
export async function askBatch<Q extends Keyed>(
  questions: readonly Q[],
  ask: Ask<Q>,
  watch: RefusalWatch,
): Promise<RefusedQuestion<Q>[]> {
  const refused: RefusedQuestion<Q>[] = [];
  /** Returns whether anything in it was refused. `isSuspect`: it is known that as a whole it would be. */
  const settle = async (batch: readonly Q[], isSuspect: boolean): Promise<boolean> => {
    if (batch.length === 0) return false;
    if (isSuspect && batch.length > 1) return halve(batch);
    const outcome = await ask(batch);
    if (outcome.kind === 'answered') {
      watch.answered();
      return false;
    }
    const verdict = verdictOf(batch, outcome);
    refused.push(...verdict.refused);
    if (batch.length === 1) watch.refused(outcome);
    if (verdict.refused.length > 0) await settle(verdict.open, false);
    else await halve(batch);
    return true;
  };
  const halve = async (batch: readonly Q[]): Promise<boolean> => {
    const middle = Math.ceil(batch.length / 2);
    const isFaultFound = await settle(batch.slice(0, middle), false);
    // The fault lies in one of the halves: where the first has none, asking the second as a whole would tell nothing new.
    await settle(batch.slice(middle), !isFaultFound);
    return true;
  };
  await settle(questions, false);
  return refused;
}

/**
 * What a refusal says of the questions that were asked: which are refused by it, and which are still open. Of one question
 * asked alone it is the answer; of several it tells of those that it names.
 */
export function verdictOf<Q extends Keyed>(
  questions: readonly Q[],
  { status, reason, named, reasons }: Refusal,
): { readonly refused: RefusedQuestion<Q>[]; readonly open: Q[] } {
  const isRefused = (question: Q) => questions.length === 1 || named.includes(question.ean);
  const refused = questions
    .filter(isRefused)
    .map((question) => ({ question, status, reason: reasons?.get(question.ean) ?? reason }));
  return { refused, open: questions.filter((question) => !isRefused(question)) };
}
