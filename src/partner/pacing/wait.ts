/** Waiting with a limit: the only two ways in which this stage lets go of something that does not answer. */
import type { Clock } from '../../core/clock.ts';

/**
 * Resolves or rejects as `work` does, or rejects with `late()` after `limitMs`. `stop` is aborted with that same error, so that
 * whatever works under its signal ends; it is also let go when `stop` is aborted from outside.
 */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  late: () => Error,
  stop: AbortController,
  work: Promise<T>,
): Promise<T> {
  const over = new AbortController();
  clock.sleep(limitMs, over.signal).then(
    () => stop.abort(late()),
    () => undefined, // the work ended first
  );
  try {
    return await unlessAborted(stop.signal, work);
  } finally {
    over.abort(ENDED);
  }
}

/** Reason of a signal that only ends a timer: without one, each abort makes a DOMException, which costs more than the rest of it. */
export const ENDED = new Error('ended in time');

/** Resolves or rejects as `work` does, or rejects with the signal's reason when it is aborted first. */
export function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/**
 * Aborts `stop` when `signal` is aborted; returns what undoes that. In place of AbortSignal.any, which on Node 20 keeps every
 * signal that was ever joined to a long-lived one: 250 MB after 200,000 of them.
 */
export function passOn(signal: AbortSignal | undefined, stop: AbortController): () => void {
  if (!signal) return () => undefined;
  const abort = () => stop.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
