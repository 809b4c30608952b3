/** Files that nobody reads any more but a person: bodies that were refused. And records of runs. */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { MS_PER_DAY } from '../../core/days.ts';
import { bornMs } from '../../core/ids.ts';
import { namesIn } from '../../disk/atomic.ts';
import { rawPrefix } from '../../store/raw/raw.ts';
import { runsBefore } from '../../store/tables/runs.ts';
import type { RunContext } from '../context.ts';

export interface OldFile {
  readonly kind: 'refused';
  /** Relative to the home directory. */
  readonly file: string;
  readonly bytes: number;
  /** An object of the raw store; others are files of the receiver. */
  readonly isRaw: boolean;
}

const REFUSED = /^(f[0-9a-z]+)\.[a-z_.]+$/;

/** Those that are older than the settings say. Names begin with an id that says when they came; others are none of ours. */
export async function agedFiles(context: RunContext): Promise<OldFile[]> {
  const { paths, retention, pipelines } = context;
  const { refusedDays } = retention;
  const found: OldFile[] = [];
  if (refusedDays !== null) {
    for (const { name } of pipelines) found.push(...(await olderRefused(context, name, refusedDays)));
    found.push(...(await older(context, path.join(paths.inbox, 'refused'), refusedDays)));
  }
  return found;
}

async function olderRefused({ raw, clock }: RunContext, pipeline: string, days: number): Promise<OldFile[]> {
  const before = clock.now() - days * MS_PER_DAY;
  const found: OldFile[] = [];
  for await (const { name, bytes } of raw.place.list(rawPrefix(pipeline, 'refused'))) {
    const id = REFUSED.exec(path.basename(name))?.[1];
    if (id !== undefined && bornMs(id) < before) found.push({ kind: 'refused', file: name, bytes, isRaw: true });
  }
  return found;
}

/** Old runs that every target knows; the newest one stays, it says how the last run ended. */
export async function agedRuns(context: RunContext): Promise<string[]> {
  const { runsDays } = context.retention;
  if (runsDays === null) return [];
  const recorded: string[] = [];
  for (const target of context.targets) recorded.push((await target.state()).lastRunId ?? '');
  const upTo = recorded.sort()[0] ?? '';
  return runsBefore(context.state.db, isoTime(context.clock.now() - runsDays * MS_PER_DAY), upTo);
}

async function older({ paths, clock }: RunContext, folder: string, days: number): Promise<OldFile[]> {
  const before = clock.now() - days * MS_PER_DAY;
  const found: OldFile[] = [];
  for (const name of (await namesIn(folder)).sort()) {
    const id = REFUSED.exec(name)?.[1];
    if (id === undefined || !(bornMs(id) < before)) continue;
    const status = await stat(path.join(folder, name)).catch(() => null);
    const file = path.relative(paths.root, path.join(folder, name));
    if (status?.isFile()) found.push({ kind: 'refused', file, bytes: status.size, isRaw: false });
  }
  return found;
}
