/** The demo in a package of its own, as `npm start` runs it. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { CliContext } from '../../../src/cli/context.ts';
import { Interrupt } from '../../../src/cli/interrupt.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { dayAt } from '../../../src/core/days.ts';
import { FakeClock } from '../../support/clock.ts';
import { packageRoot } from '../../support/nights.ts';
import { TextWriter } from '../surroundings.ts';

/** Pauses of the budgets pass at once; timeouts are longer. */
const PASSING_MS = 5000;
const clock = new FakeClock().passUpTo(PASSING_MS);
export const today = dayAt(clock.now(), 'Europe/Amsterdam');

export interface DemoScene {
  /** Where `npm start` is typed. */
  readonly cwd: string;
  /** A command; `onOut` gets everything that was printed so far, and may press Ctrl-C. */
  typed(
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
    onOut?: (text: string, end: () => void) => void,
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
  /** A small demo. */
  demo(...words: string[]): ReturnType<DemoScene['typed']>;
}

/** Registers the hooks that give the file a package of its own; the returned object is valid inside tests. */
export function useDemo(): DemoScene {
  let cwd: string;
  beforeAll(async () => {
    cwd = await mkdtemp(path.join(tmpdir(), 'etl-demo-'));
    // A package without config/local.yaml, whatever lies in the checkout.
    for (const part of ['config/default.yaml', 'sql', 'package.json'])
      await cp(path.join(packageRoot, part), path.join(cwd, 'package', part), { recursive: true });
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  async function typed(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
    onOut?: (text: string, end: () => void) => void,
  ) {
    const [stdout, stderr] = [new TextWriter(), new TextWriter()];
    const interrupt = new Interrupt({ say: () => undefined, exit: () => undefined });
    const write = stdout.write.bind(stdout);
    stdout.write = (text) => {
      write(text);
      onOut?.(stdout.text, () => interrupt.press('SIGINT'));
    };
    const around = { env, cwd, packageRoot: path.join(cwd, 'package'), version: '1.2.3', clock, interrupt };
    const code = await runProgram(words, new CliContext({ ...around, stdout, stderr }));
    return { code, out: stdout.text, err: stderr.text };
  }

  const demo = (...words: string[]) => typed(['demo', '--orders-per-day', '50', ...words]);

  return {
    get cwd() {
      return cwd;
    },
    typed,
    demo,
  };
}
