#!/usr/bin/env node
/**
 * The program's entry: ties the command line to this process. Nothing else reads the environment or ends the process.
 *
 * bin/partner-etl.js has set UV_THREADPOOL_SIZE before it loaded this. Here it would be too late: Node loads modules of
 * this kind through the thread pool, whose size is fixed once it has begun to work.
 */
import { once } from 'node:events';
import { CliContext } from './cli/context.ts';
import { readEnvFile } from './cli/env-file.ts';
import { Interrupt, type InterruptName } from './cli/interrupt.ts';
import type { Writer } from './cli/print/screen.ts';
import { formatIn, runProgram } from './cli/program.ts';
import { stopReason } from './cli/stop-request.ts';
import { systemClock } from './core/clock.ts';
import { asEtlError, EXIT, exitCodeOf } from './core/errors.ts';
import { findPackage } from './disk/package-root.ts';

function writerOf(stream: NodeJS.WriteStream): Writer {
  // Whoever reads our output may have seen enough (`| head`): the rest is dropped, and the work goes on.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    write: (text) => void (stream.writable && stream.write(text)),
    ready: async () => {
      if (stream.writableNeedDrain) await drained(stream);
      return stream.writable;
    },
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
  };
}

async function drained(stream: NodeJS.WriteStream): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
  } catch {
    // whoever read it is gone
  } finally {
    waiting.abort();
  }
}

// Whatever the shell says: what this program writes is its user's alone. What somebody else could write we would read and believe, and
// a lock file that another user may open lets him stop every run. Who shall read the warehouse is let in once, with chmod: it stays so.
process.umask(0o077);

const words = process.argv.slice(2);

const { root, version } = await findPackage(import.meta.dirname);
const interrupt = new Interrupt({
  say: (text) => context.say(text),
  exit: (code) => process.exit(code),
});

function contextIn(env: NodeJS.ProcessEnv): CliContext {
  return new CliContext({
    env,
    cwd: process.cwd(),
    packageRoot: root,
    version,
    stdout: writerOf(process.stdout),
    stderr: writerOf(process.stderr),
    // Opened by who asks a question, and by nobody else.
    get stdin() {
      return process.stdin;
    },
    clock: systemClock,
    interrupt,
    program: [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)],
  });
}

/** The environment, with what .env of the working directory adds. Help and the version need none of it. */
async function environment(): Promise<NodeJS.ProcessEnv> {
  const { env } = process;
  if (words.some((word) => /^(?:-h|--help|-V|--version|help)$/.test(word))) return env;
  try {
    return { ...env, ...(await readEnvFile(process.cwd(), env, process.getuid?.() ?? null)) };
  } catch (thrown) {
    const early = contextIn({});
    early.settle({ verbose: false, quiet: false, format: formatIn(words) });
    early.fail(thrown);
    process.exit(exitCodeOf(asEtlError(thrown)));
  }
}

const context = contextIn(await environment());
for (const name of ['SIGINT', 'SIGTERM'] satisfies InterruptName[]) process.on(name, () => interrupt.press(name));
if (process.channel) {
  // A scheduled run, which `serve` asks to stop through this channel; without a `serve` it is to stop as well.
  process.on('message', (message) => interrupt.ask(stopReason(message)));
  process.on('disconnect', () => interrupt.ask(stopReason(null)));
  process.channel.unref();
} else if (process.connected === false) interrupt.ask(stopReason(null)); // it was gone before this could listen
process.on('uncaughtException', (thrown) => {
  context.fail(thrown);
  process.exit(EXIT.failed);
});
process.exitCode = await runProgram(words, context);
