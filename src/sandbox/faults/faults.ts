/**
 * Faults: what goes wrong on the way, without the world being any different.
 *
 * A fault waits until `after` calls that it fits have passed, and then strikes `times` calls. One call meets at most one
 * answer fault (a further one waits for the next call) and any number of item and file faults; an answer that carries no
 * items uses none of them up. Only calls that came past token and budgets count.
 */
import type { AnswerFault, CallFaults, Fault, FaultTarget, Shape } from './kinds.ts';
import { checkedFault, fits, isAnswerFault, isDelivery, isFileFault, isItemFault, isRefusal } from './rules.ts';

/** Shapes that have no room for items. */
const ITEMLESS: readonly string[] = ['no-items', 'null-items', 'text-items', 'empty'] satisfies readonly Shape[];

interface Waiting {
  readonly fault: Fault;
  toPass: number;
  toStrike: number;
}

/** Whether a fault has let all the calls pass that it lets pass first; counts this one. */
function passed(waiting: Waiting): boolean {
  if (waiting.toPass === 0) return true;
  waiting.toPass--;
  return false;
}

export class Faults {
  #waiting: Waiting[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault: checkedFault(fault), toPass: fault.after ?? 0, toStrike: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The faults that strike this call; counts them. */
  strike(target: FaultTarget): CallFaults {
    const aimed = this.#waiting.filter(({ fault }) => fits(fault, target));
    const answer = this.#nextAnswerFault(aimed);
    const refusal = answer !== undefined && isRefusal(answer) ? answer : undefined;
    const delivery = answer !== undefined && isDelivery(answer) ? answer : undefined;
    const shape = answer?.kind === 'shape' ? answer.shape : undefined;
    const hasItems = refusal === undefined && (shape === undefined || !ITEMLESS.includes(shape));
    const inside = hasItems ? aimed.filter((waiting) => !isAnswerFault(waiting.fault) && passed(waiting)) : [];
    for (const waiting of inside) waiting.toStrike--;
    this.#waiting = this.#waiting.filter(({ toStrike }) => toStrike > 0);
    const struck = inside.map(({ fault }) => fault);
    return { refusal, delivery, shape, items: struck.filter(isItemFault), file: struck.filter(isFileFault) };
  }

  #nextAnswerFault(aimed: readonly Waiting[]): AnswerFault | undefined {
    let answer: AnswerFault | undefined;
    for (const waiting of aimed) {
      if (!isAnswerFault(waiting.fault) || !passed(waiting) || answer !== undefined) continue;
      waiting.toStrike--;
      answer = waiting.fault;
    }
    return answer;
  }
}
