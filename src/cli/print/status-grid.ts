/** The grid of days, as wide as the terminal: a mark a day, the newest at the end. */
import type { DayState, PipelineStatus } from '../../run/status/status-days.ts';

const MARK: Readonly<Record<DayState, string>> = {
  missing: '·',
  failed: '!',
  held: 'h',
  open: 'o',
  settled: '█',
  quiet: ' ',
};
const MOST_DAYS = 92;
/** With fewer, the dates around them say less than the days that they take the place of. */
const LEAST_DAYS = 14;
const NAME_WIDTH = 16;
const DATES_WIDTH = 2 * ' yyyy-mm-dd'.length;

/** `width`: characters of a line. */
export function gridLine({ pipeline, days }: Pick<PipelineStatus, 'pipeline' | 'days'>, width: number): string {
  const room = width - NAME_WIDTH - 1;
  const isDated = room - DATES_WIDTH >= LEAST_DAYS;
  const shown = days.slice(-Math.max(1, Math.min(MOST_DAYS, isDated ? room - DATES_WIDTH : room)));
  const marks = shown.map(({ state }) => MARK[state]).join('');
  const name = pipeline.padEnd(NAME_WIDTH);
  return isDated ? `${name} ${shown[0]?.day ?? ''} ${marks} ${shown.at(-1)?.day ?? ''}` : `${name} ${marks}`.trimEnd();
}

export function legend(width: number): string {
  const states = '█ settled (of look-ups and messages: something new)';
  const others = 'o open  h held  ! failed  · missing';
  return states.length + others.length + 2 <= width ? `${states}  ${others}` : `${states}\n${others}`;
}
