/**
 * A subject of hostile input: what comes in as bytes, and what must hold whatever they are.
 *
 * Everything is bytes, so that one property serves all: the short run of the suite, the long run of `npm run fuzz`, and the
 * files of the corpus. `prove` shares no code with what it tests.
 */
import { Buffer } from 'node:buffer';
import fc from 'fast-check';

export interface Subject {
  readonly name: string;
  /** Ending of its files in the corpus. */
  readonly extension: string;
  readonly inputs: fc.Arbitrary<Uint8Array>;
  /** Throws when it does not hold. */
  readonly prove: (input: Uint8Array) => void | Promise<void>;
  /** Inputs of the suite's short run. */
  readonly shortRuns: number;
  /** Cases that are too large for a file, by what they are. */
  readonly large?: Readonly<Record<string, () => Uint8Array>>;
  /** Ends what it opened. */
  readonly close?: () => Promise<void>;
}

export interface Trial {
  readonly seed: number;
  readonly runs: number;
  /** Stops after so long, in good order; null: never. */
  readonly timeMs: number | null;
  /** Of a failure, to replay it at once. */
  readonly path?: string;
}

export interface Failure {
  readonly seed: number;
  readonly path: string;
  /** Shrunk. */
  readonly input: Uint8Array;
  readonly error: unknown;
}

export interface Tried {
  readonly runs: number;
  readonly failure: Failure | null;
}

/** Tries inputs until one fails. */
export async function tryInputs({ inputs, prove }: Subject, { seed, runs, timeMs, path }: Trial): Promise<Tried> {
  const property = fc.asyncProperty(inputs, async (input) => prove(input));
  const details = await fc.check(property, {
    seed,
    numRuns: runs,
    ...(path === undefined ? {} : { path }),
    ...(timeMs === null ? {} : { interruptAfterTimeLimit: timeMs, markInterruptAsFailure: false }),
  });
  // Interrupted before the first input was through, it calls that a failure too.
  if (!details.failed || details.counterexample === null) return { runs: details.numRuns, failure: null };
  const [input] = details.counterexample;
  const failure = { seed: details.seed, path: details.counterexamplePath ?? '', input, error: details.errorInstance };
  return { runs: details.numRuns, failure };
}

/** How to see a failure again. */
export function toldFailure(name: string, { seed, path, input, error }: Failure): string {
  const shown = Buffer.from(input).toString('utf8').slice(0, 2000);
  const why = error instanceof Error ? error.message : String(error);
  return [
    `${name} does not hold: ${why}`,
    `shrunk input, ${input.length} bytes: ${JSON.stringify(shown)}`,
    `again: npm run fuzz -- ${name} --seed ${seed} --path ${path}`,
  ].join('\n');
}

/** Bytes of a text in UTF-8. */
export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** The text that bytes spell in UTF-8, and null where they spell none. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
