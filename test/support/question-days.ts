/** The calendar of the scene that the questions are answered on. */
import type { Day, DayRange } from '../../src/core/days.ts';

export const FIRST = '2025-12-15' as Day;
/** The last night looks at orders up to the day before it. */
export const NIGHTS = ['2026-01-15', '2026-02-05', '2026-02-27', '2026-03-06', '2026-03-13'] as Day[];
export const NEWEST = '2026-03-12' as Day;
export const LAST_MONTH: DayRange = { from: '2026-02-01' as Day, to: '2026-02-28' as Day };
/** The night that was the last one before March began. */
export const MONTH_END_NIGHT = '2026-02-27' as Day;
/** The promotions of this day were emptied after they had been loaded, which is held. */
export const HELD = '2026-03-05' as Day;
