/** A scheduled run as a process of its own: `partner-etl run …`. */
import { z } from 'zod';
import { EXIT } from '../../core/errors.ts';
import type { ProgramEnd, StartProgram } from '../program-process.ts';
import type { RunEnd, StartRun } from './scheduler.ts';

const reported = z.union([
  z.object({ nothing_due: z.literal(true) }),
  z.object({
    run_id: z.string(),
    result: z.enum(['done', 'failed', 'set_aside', 'refused', 'interrupted']).nullable(),
  }),
]);

/** Starts runs as processes. `words`: the arguments of the program for a run of these pipelines. */
export function processStarter(
  start: StartProgram,
  words: (pipelines: readonly string[]) => readonly string[],
): StartRun {
  return (pipelines) => {
    const { ended, ...run } = start(words(pipelines));
    return { ...run, ended: ended.then(runEnd) };
  };
}

function runEnd(end: ProgramEnd): RunEnd {
  if (end.kind === 'lost') return end;
  if (end.exitCode === EXIT.locked) return { kind: 'locked' };
  const document = reported.safeParse(end.document).data;
  if (document === undefined)
    return { kind: 'ended', result: end.exitCode === EXIT.refused ? 'refused' : 'failed', runId: null };
  if ('nothing_due' in document) return { kind: 'ended', result: 'nothing_due', runId: null };
  return { kind: 'ended', result: document.result ?? 'failed', runId: document.run_id };
}
