/** `state/schedule.json`: which scheduled runs were started and finished, so that a restart knows it. Runs by hand do not stand in it. */
import path from 'node:path';
import type { HomePaths } from '../core/home.ts';
import { writeJson } from '../disk/atomic.ts';
import { readState } from '../run/state-file.ts';
import { type ScheduleState, scheduleState } from './schedule-due.ts';

function fileIn({ state }: Pick<HomePaths, 'state'>): string {
  return path.join(state, 'schedule.json');
}

/** null where no scheduler has been at work here. */
export function readSchedule(paths: Pick<HomePaths, 'state'>): Promise<ScheduleState | null> {
  return readState(fileIn(paths), scheduleState);
}

export function writeSchedule(paths: Pick<HomePaths, 'state'>, state: ScheduleState): Promise<void> {
  return writeJson(fileIn(paths), state);
}
