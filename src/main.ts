#!/usr/bin/env node
/**
 * The program's entry: ties the command line to this process. Nothing else reads the environment or ends the process.
 *
 * bin/partner-etl.js has set UV_THREADPOOL_SIZE before it loaded this. Here it would be too late: Node loads modules of
 * this kind through the thread pool, whose size is fixed once it has begun to work.
 */
import { CliContext } from './cli/context.ts';
import { describeFailure } from './cli/failure.ts';
import { Interrupt, type InterruptName } from './cli/interrupt.ts';
import { findPackage } from './cli/package-root.ts';
import { runProgram } from './cli/program.ts';
import type { Writer } from './cli/screen.ts';
import { systemClock } from './core/clock.ts';
import { EXIT } from './core/errors.ts';

function writerOf(stream: NodeJS.WriteStream): Writer {
  // Whoever reads our output may have seen enough (`| head`): the rest is dropped, and the work goes on.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    write: (text) => void (stream.writable && stream.write(text)),
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
  };
}

const { root, version } = await findPackage(import.meta.dirname);
const interrupt = new Interrupt({
  say: (text) => context.screen.print(text),
  exit: (code) => process.exit(code),
});
const context = new CliContext({
  env: process.env,
  cwd: process.cwd(),
  packageRoot: root,
  version,
  stdout: writerOf(process.stdout),
  stderr: writerOf(process.stderr),
  clock: systemClock,
  interrupt,
});
for (const name of ['SIGINT', 'SIGTERM'] satisfies InterruptName[]) process.on(name, () => interrupt.press(name));
process.on('uncaughtException', (thrown) => {
  const { verbose } = context.verbosity;
  context.screen.print(describeFailure(thrown, { verbose, secrets: context.secrets }));
  process.exit(EXIT.failed);
});
process.exitCode = await runProgram(process.argv.slice(2), context);
