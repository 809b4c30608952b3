/** The calendar of a pipeline: a letter a day from the first day that was loaded, or is wished for, to the newest. */
import { type Day, daysOf, maxDay, minDay } from '../../../core/days.ts';
import type { SliceEntry } from '../../../core/slices.ts';
import { type DayState, type PipelineStatus, stateOf } from '../../../run/status/status-days.ts';
import { CELL_LETTERS, type CellState, NOBODYS_LETTER, type PipelineRow } from '../model.ts';

/** What is loaded can be drifted as well; what is not needs somebody in any case. */
const LOADED: ReadonlySet<DayState> = new Set(['open', 'settled', 'quiet']);

/** `drifted`: days whose answer showed something that the contract does not know. */
export function calendarRow(
  status: PipelineStatus,
  slices: ReadonlyMap<Day, SliceEntry>,
  drifted: ReadonlySet<Day>,
): PipelineRow {
  const { pipeline, enabled, newest, days_behind, rows, rejects } = status;
  const loaded = [...slices.keys()];
  const from = minDay(loaded[0] ?? status.from, status.from);
  const to = maxDay(loaded.at(-1) ?? status.to, status.to);
  const wished = new Map(status.days.map(({ day, state }) => [day, state]));
  const counts = { missing: 0, failed: 0, held: 0, open: 0, settled: 0, quiet: 0, drifted: 0 };
  const cells = daysOf({ from, to }).map((day) => {
    const entry = slices.get(day);
    const state = wished.get(day) ?? (entry ? stateOf(entry, false) : null);
    if (state === null) return NOBODYS_LETTER;
    const shown: CellState = drifted.has(day) && LOADED.has(state) ? 'drifted' : state;
    counts[shown] += 1;
    return CELL_LETTERS[shown];
  });
  return { pipeline, enabled, from, cells: cells.join(''), counts, newest, days_behind, rows, rejects };
}
