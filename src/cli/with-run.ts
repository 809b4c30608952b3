/** Opens the app for a command that moves data: its spans go to a collector where one is named, and its outcome is printed. */
import { openApp } from '../app.ts';
import { isoTime } from '../core/clock.ts';
import { asEtlError, EtlError } from '../core/errors.ts';
import { openTracing } from '../extras/tracing/tracing.ts';
import { sendAlerts } from '../run/alerts/alerts.ts';
import type { Unstarted } from '../run/alerts/run-causes.ts';
import type { RunContext } from '../run/context.ts';
import { INTERRUPTED } from '../run/tally.ts';
import type { CliContext } from './context.ts';

export interface RunWords {
  /** Whose run it is, where one that cannot begin is to be reported: nobody watches a night. */
  readonly pipelines?: (context: RunContext) => readonly string[];
}

export async function withRun<T>(
  cli: CliContext,
  work: (context: RunContext) => Promise<T>,
  { pipelines }: RunWords = {},
): Promise<T> {
  const { clock, log, progress, signal, env, version } = cli;
  const config = await cli.config();
  const tracing = await openTracing({ env, version, clock, log });
  const { tracer } = tracing;
  const app = await openApp({ config, clock, log, progress, signal, tracer, random: Math.random });
  const unstarted: Unstarted[] = [];
  try {
    return await work(app.context);
  } catch (thrown) {
    const { kind, code } = asEtlError(thrown);
    if (pipelines && kind !== 'locked' && code !== NO_PIPELINE)
      unstarted.push({ pipelines: pipelines(app.context), at: isoTime(clock.now()), code });
    throw thrown;
  } finally {
    // Who asked for the end waits for it.
    if (!isInterrupted(signal)) await sendAlerts(app.context, config.alerts, unstarted);
    await tracing.close();
    await app.close();
  }
}

/** A name that was mistyped is answered where it was typed. */
const NO_PIPELINE = 'no_pipeline';

function isInterrupted({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof EtlError && reason.code === INTERRUPTED;
}
