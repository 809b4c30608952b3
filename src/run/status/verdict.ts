/** Whether all is well with the data, and what needs a person: the first thing that `status` and the status page say. */
import type { Day } from '../../core/days.ts';
import type { RunRecord } from '../../core/records.ts';

export type Subject = 'runs' | 'days' | 'holds' | 'rejects' | 'pipelines' | 'targets' | 'drift';

export interface Point {
  /** Begins in lower case, so that it can stand in a sentence. */
  readonly words: string;
  readonly about: Subject;
  /** The command that does something about it, or tells more. */
  readonly command: string;
}

export interface JudgedPipeline {
  readonly pipeline: string;
  readonly enabled: boolean;
  readonly newest: Day | null;
  readonly days_behind: number | null;
  /** Days whose last request failed. */
  readonly failed: number;
  /** Missing days before the newest that is loaded; later ones make it late. */
  readonly gaps: number;
}

export interface JudgedTarget {
  readonly target: string;
  /** null where it could not be asked. */
  readonly slices_behind: number | null;
  readonly error: string | null;
}

export interface Judged {
  readonly pipelines: readonly JudgedPipeline[];
  readonly targets: readonly JudgedTarget[];
  /** Newest first. */
  readonly runs: readonly Pick<RunRecord, 'result' | 'command'>[];
  /** What a run brings is no matter for a person while one is at work, and another one could not begin. */
  readonly isAtWork: boolean;
  readonly holds: number;
  readonly rejects: number;
}

/** A pipeline may be this much behind before anybody needs to know: the night has not been yet. */
const DAYS_BEHIND = 1;

export function needsOf(judged: Judged): Point[] {
  return [...runNeeds(judged), ...dataNeeds(judged), ...targetNeeds(judged)];
}

export function sentenceOf({ pipelines, isAtWork }: Pick<Judged, 'pipelines' | 'isAtWork'>, needs: number): string {
  if (needs > 0) return counted(needs, 'thing needs you', 'things need you');
  if (isAtWork && isEmpty(pipelines)) return 'The first nights are being loaded';
  const loaded = pipelines.filter((p) => p.enabled && p.newest !== null);
  const shown = loaded.find(({ pipeline }) => pipeline === 'orders') ?? loaded[0];
  return shown ? `All is well: newest ${shown.pipeline} ${shown.newest}` : 'All is well';
}

function runNeeds({ runs }: Judged): Point[] {
  const last = runs.find(({ result }) => result !== null);
  if (last?.result !== 'failed' && last?.result !== 'refused') return [];
  const words = `the last run ${last.result === 'failed' ? 'failed' : 'was refused'}`;
  return [{ words, about: 'runs', command: last.result === 'failed' ? last.command : 'doctor --online' }];
}

function isEmpty(pipelines: Judged['pipelines']): boolean {
  return pipelines.every(({ enabled, newest }) => !enabled || newest === null);
}

function dataNeeds({ pipelines, holds, rejects, isAtWork }: Judged): Point[] {
  const enabled = pipelines.filter((p) => p.enabled);
  if (isEmpty(pipelines))
    return isAtWork
      ? []
      : [{ words: 'nothing is loaded yet: partner-etl run loads the first nights', about: 'days', command: 'run' }];
  const sum = (of: 'failed' | 'gaps') => enabled.reduce((total, one) => total + one[of], 0);
  const [failed, missing] = [sum('failed'), sum('gaps')];
  const needs: Point[] = [];
  const need = (words: string, about: Subject, command: string) => needs.push({ words, about, command });
  if (holds > 0) need(`${counted(holds, 'slice is', 'slices are')} held back`, 'holds', 'release PIPELINE DAY');
  if (failed > 0) need(`${counted(failed, 'day')} could not be fetched`, 'days', 'run');
  if (missing > 0 && !isAtWork) need(`${counted(missing, 'day is', 'days are')} missing`, 'days', 'run');
  if (rejects > 0) need(`${counted(rejects, 'row was', 'rows were')} rejected`, 'rejects', 'rejects');
  for (const { pipeline, days_behind: behind } of enabled)
    if (behind !== null && behind > DAYS_BEHIND)
      need(`${pipeline} is ${behind} days behind`, 'pipelines', `run ${pipeline}`);
  return needs;
}

function targetNeeds({ targets, isAtWork }: Judged): Point[] {
  return targets.flatMap(({ target, slices_behind: behind, error }): Point[] => {
    if (error !== null) return [{ words: `${target} could not be asked`, about: 'targets', command: 'doctor' }];
    return behind && !isAtWork
      ? [{ words: `${target} lacks ${counted(behind, 'slice')}`, about: 'targets', command: 'run' }]
      : [];
  });
}

function counted(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;
}
