/** Many calls at once, until they are done, the operator stops them, or it is clear that the rest would fail as well. */
import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { passOn } from '../../partner/pacing/wait.ts';

/** So many may fail in a row before the rest is given up. */
const FAILURES_IN_A_ROW = 5;

export class ManyCalls {
  /** Aborted by the operator, or when the rest is given up. */
  readonly signal: AbortSignal;
  /** To be called when nothing is asked any more. */
  readonly end: () => void;
  private readonly stop = new AbortController();
  private failuresInARow = 0;

  constructor(operator: AbortSignal) {
    this.signal = this.stop.signal;
    this.end = passOn(operator, this.stop);
    setMaxListeners(0, this.signal); // every call under way listens to it
  }

  /**
   * Works on each of the units, `concurrency` at once; the next one is only taken when there is room for it. `failed` hears what one
   * fails with, and whether the rest is given up for it.
   */
  async each<U>(
    units: Iterable<U> | AsyncIterable<U>,
    concurrency: number,
    work: (unit: U) => Promise<void>,
    failed: (error: EtlError, unit: U, isLast: boolean) => void,
  ): Promise<void> {
    const task = async (unit: U) => {
      if (this.signal.aborted) return;
      try {
        await work(unit);
        this.failuresInARow = 0;
      } catch (thrown) {
        if (this.signal.aborted) return;
        const error = asEtlError(thrown);
        const isLast = this.isLast(error);
        failed(error, unit, isLast);
        if (isLast) this.stop.abort(new EtlError('failed', 'given_up', 'given up after failures'));
      }
    };
    const limit = pLimit(concurrency);
    const underWay = new Set<Promise<void>>();
    for await (const unit of units) {
      if (this.signal.aborted) break;
      const done: Promise<void> = limit(task, unit).finally(() => underWay.delete(done));
      underWay.add(done);
      if (underWay.size >= concurrency) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  private isLast(error: EtlError): boolean {
    this.failuresInARow += 1;
    return isHopeless(error) || error.code === 'everything_refused' || this.failuresInARow >= FAILURES_IN_A_ROW;
  }
}

/** Whether every other call would end as this one did. */
export function isHopeless({ kind }: EtlError): boolean {
  return kind !== 'retry' && kind !== 'failed';
}
