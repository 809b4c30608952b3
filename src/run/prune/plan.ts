/** What retention would delete, and why the rest stays. A plan is data: it is printed, or carried out. */
import { MS_PER_DAY } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { isNamed } from '../../core/pipeline.ts';
import { Engine } from '../../engine/duckdb.ts';
import type { TargetName } from '../../warehouse/target-name.ts';
import type { RunContext } from '../context.ts';
import { agedFiles, agedRuns, type OldFile } from './files.ts';
import { type Need, needsOf, unloadedSlices } from './needs.ts';
import { type Doomed, lookThrough, type Walk } from './walk.ts';

/** Why an answer stays: it is needed, or neither its age nor the size of the raw store calls for it. */
export type Stay = Need | 'young';

export interface Kept {
  readonly pipeline: string;
  readonly why: Stay;
  readonly answers: number;
  readonly bytes: number;
}

export interface PrunePlan {
  readonly answers: readonly Doomed[];
  readonly kept: readonly Kept[];
  /** What a crash left in the raw store. */
  readonly unnamed: readonly Doomed[];
  readonly files: readonly OldFile[];
  /** Whose records go. */
  readonly runs: readonly string[];
  /** Of warehouses that can still be read as they were: by target, how many go. */
  readonly snapshots: ReadonlyMap<TargetName, number>;
}

const BYTES_PER_MIB = 1024 * 1024;

/** A DuckLake and a Delta log grow with every night, so they are tidied whatever else is kept. */
export function hasRetention({ retention, targets, openLake }: Retained): boolean {
  const isGrowing = openLake !== null || targets.some(({ name }) => name === 'ducklake');
  return isGrowing || Object.values(retention).some((value) => value !== null);
}

type Retained = Pick<RunContext, 'retention' | 'targets' | 'openLake'>;

/** Errors: `usage/no_retention`. */
export function demandRetention(context: Retained): void {
  if (hasRetention(context)) return;
  throw new EtlError('usage', 'no_retention', 'nothing is set under `retention`, so everything is kept', {
    hint: 'set for example retention.rawDays in config/local.yaml',
  });
}

/**
 * Errors: `usage/no_retention`; of a target that cannot be asked, or a file of
 * the lake that cannot be read: then nobody knows what is needed.
 */
export async function planPrune(context: RunContext): Promise<PrunePlan> {
  demandRetention(context);
  const files = await agedFiles(context);
  const runs = await agedRuns(context);
  const snapshots = await oldSnapshots(context);
  const { rawDays, rawMiB } = context.retention;
  if (rawDays === null && rawMiB === null) return { answers: [], kept: [], unnamed: [], files, runs, snapshots };
  const walks = await walkRawStore(context);
  const free = walks.flatMap((walk) => walk.free);
  const bytes = walks.reduce((sum, walk) => sum + walk.bytes, 0);
  const answers = chosen(context, free, bytes);
  const isOld = ({ newestMs }: Doomed) => newestMs < context.clock.now() - MS_PER_DAY;
  const unnamed = walks.flatMap((walk) => walk.unnamed).filter(isOld);
  return { answers, kept: keptOf(walks, new Set(answers)), unnamed, files, runs, snapshots };
}

async function oldSnapshots({ targets }: RunContext): Promise<Map<TargetName, number>> {
  const old = new Map<TargetName, number>();
  for (const target of targets) {
    const count = await target.oldSnapshots();
    if (count !== null) old.set(target.name, count);
  }
  return old;
}

async function walkRawStore(context: RunContext): Promise<Walk[]> {
  const engine = await Engine.open({ tempDir: context.paths.work, ...context.engine });
  try {
    const unloaded = await unloadedSlices(context);
    const walks: Walk[] = [];
    for (const pipeline of context.pipelines.filter(isNamed)) {
      const needs = await needsOf(context, engine, pipeline, unloaded);
      walks.push(await lookThrough(context, pipeline.name, needs));
    }
    return walks;
  } finally {
    engine.close();
  }
}

/** Of what may go: what is too old, and the oldest as long as the raw store is too large. */
function chosen({ clock, retention }: RunContext, free: readonly Doomed[], bytes: number): Doomed[] {
  const nowMs = clock.now();
  const { rawDays, rawMiB } = retention;
  const cutoffMs = rawDays === null ? Number.NEGATIVE_INFINITY : nowMs - rawDays * MS_PER_DAY;
  let surplus = rawMiB === null ? 0 : bytes - rawMiB * BYTES_PER_MIB;
  // What came in within a day may still be written to, or be taken in.
  const old = free.filter(({ newestMs }) => newestMs < nowMs - MS_PER_DAY).sort((a, b) => a.newestMs - b.newestMs);
  const going: Doomed[] = [];
  for (const doomed of old) {
    if (doomed.newestMs >= cutoffMs && surplus <= 0) continue;
    going.push(doomed);
    surplus -= doomed.bytes;
  }
  return going;
}

function keptOf(walks: readonly Walk[], going: ReadonlySet<Doomed>): Kept[] {
  return walks.flatMap(({ pipeline, needed, free }) => {
    const young = free.filter((doomed) => !going.has(doomed));
    const answers = young.reduce((sum, doomed) => sum + doomed.answers, 0);
    const bytes = young.reduce((sum, doomed) => sum + doomed.bytes, 0);
    const kept: Kept[] = [...needed].map(([why, amount]) => ({ pipeline, why, ...amount }));
    return answers === 0 ? kept : [...kept, { pipeline, why: 'young' as const, answers, bytes }];
  });
}
