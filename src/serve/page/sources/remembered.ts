/**
 * A value that is dear to make, made for all who ask at once and kept for a while.
 *
 *   none ──asked──▶ making ──▶ fresh ──its time passes──▶ old ──asked──▶ making, the old one at hand ──▶ fresh
 *
 * Who asks while an old one is at hand waits for the new one only so long: a warehouse that does not answer must not keep everything
 * else from being seen. `forget` makes whatever was begun before it nobody's.
 */
import type { Clock } from '../../../core/clock.ts';

export interface RememberedOptions<T> {
  readonly make: () => Promise<T>;
  readonly clock: Clock;
  /** For so long it is handed out as it is; longer, where making it took long: a quarter of the time is for making at the most. */
  readonly freshMs: number;
  readonly patienceMs: number;
}

const TIMES_ITS_MAKING = 3;

export class Remembered<T> {
  private readonly options: RememberedOptions<T>;
  private last: { readonly value: T; readonly freshUntilMs: number } | null = null;
  private making: Promise<T> | null = null;

  constructor(options: RememberedOptions<T>) {
    this.options = options;
  }

  /** Errors: those of `make`. */
  async read(): Promise<T> {
    const { last } = this;
    const { clock, patienceMs } = this.options;
    if (last && clock.now() < last.freshUntilMs) return last.value;
    this.making ??= this.begin();
    if (!last) return this.making;
    const over = new AbortController();
    const tired = clock.sleep(patienceMs, over.signal).then(
      () => last.value,
      () => last.value, // the new one is here
    );
    try {
      return await Promise.race([this.making, tired]);
    } finally {
      over.abort();
    }
  }

  /** Who asks from now on gets one whose making began after this. */
  forget(): void {
    this.last = null;
    this.making = null;
  }

  private begin(): Promise<T> {
    const { make, clock, freshMs } = this.options;
    const begunMs = clock.now();
    const making = make().then(
      (value) => {
        const nowMs = clock.now();
        const keepMs = Math.max(freshMs, TIMES_ITS_MAKING * (nowMs - begunMs));
        if (this.making === making) {
          this.last = { value, freshUntilMs: nowMs + keepMs };
          this.making = null;
        }
        return value;
      },
      (error: unknown) => {
        if (this.making === making) this.making = null;
        throw error;
      },
    );
    return making;
  }
}
