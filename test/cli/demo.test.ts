/** What `npm start` runs, twice: the README promises that the same night again changes nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CliContext } from '../../src/cli/context.ts';
import { Interrupt } from '../../src/cli/interrupt.ts';
import { runProgram } from '../../src/cli/program.ts';
import { FakeClock } from '../support/clock.ts';
import { packageRoot } from '../support/nights.ts';
import { TextWriter } from './surroundings.ts';

/** Pauses of the budgets pass at once; timeouts are longer. */
const PASSING_MS = 5000;

test('the demo loads a night of every pipeline, and the same night again asks for nothing new and changes nothing', async () => {
  const cwd = await mkdtemp(path.join(tmpdir(), 'etl-demo-'));
  const clock = new FakeClock().passUpTo(PASSING_MS);
  const demo = async () => {
    const stdout = new TextWriter();
    const interrupt = new Interrupt({ say: () => undefined, exit: () => undefined });
    const around = { env: {}, cwd, packageRoot, version: '1.2.3', clock, interrupt };
    const context = new CliContext({ ...around, stdout, stderr: new TextWriter() });
    const code = await runProgram(['demo', '--orders-per-day', '50', '--home', 'demo'], context);
    return { code, out: stdout.text };
  };
  try {
    const first = await demo();
    expect(first.code).toBe(0);
    expect(first.out).toMatch(/ slices changed, [0-9]+ unchanged\nduckdb: [0-9]+ slices, /);
    const second = await demo();
    expect(second.code).toBe(0);
    expect(second.out).toMatch(/: 0 slices changed, [0-9]+ unchanged\nduckdb: nothing to load\n/);
    expect(first.out + second.out).not.toContain('left out');
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
