/**
 * The grid pipeline × day, a table for each month, the newest month first in the document and at the right on the screen. Without a script
 * it shows a year; the script draws the others from the letters (assets/calendar.js, which makes the same tables).
 */
import { addDays, type Day, daysBetween, daysOf, maxDay, minDay, monthOf, parseDay } from '../../../core/days.ts';
import { html, type Markup } from '../../../core/markup.ts';
import { CELL_LETTERS, type PageModel, type PipelineRow } from '../model.ts';
import { CELL_STATES, meaningOf, signOf, stateOfLetter } from './cell-states.ts';
import { countText } from './figures.ts';
import { cellPath } from './pieces.ts';

const MONTHS_SHOWN = 12;
/** Of a month that has just begun: its name needs room. */
const FEWEST_DAYS = 7;
const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** `year`: null for the newest twelve months. */
export function calendar({ pipelines, today }: PageModel, year: number | null): Markup {
  const all = monthsOf(pipelines);
  const shown = year === null ? all.slice(0, MONTHS_SHOWN) : all.filter((month) => Number(month.slice(0, 4)) === year);
  return html`<section class="card" id="days" aria-labelledby="days-title">
<div class="headline"><h2 id="days-title">Days</h2>
${yearLinks(all, year)}</div>
<p class="about">Every pipeline, every day. A day opens what is known of it.<span class="keys" hidden> Arrow keys move from day to day,
Page Up and Page Down from month to month, Enter opens.</span></p>
${legend(pipelines)}
<div class="calendar" data-today="${today}" data-year="${year ?? ''}">
<div class="names" aria-hidden="true">${pipelines.map(nameOf)}</div>
<div class="months" id="months">
${shown.length === 0 ? html`<p class="none">Nothing is known of ${year ?? 'any day'}.</p>` : shown.map((month) => monthTable(month, pipelines, today, lastOf(pipelines)))}</div>
</div>
<p class="unseen" id="after-days" tabindex="-1">End of the calendar</p>
</section>
`;
}

/** From the newest to the oldest, `yyyy-mm`. */
function monthsOf(pipelines: readonly PipelineRow[]): string[] {
  const known = pipelines.filter(({ cells }) => cells.length > 0);
  if (known.length === 0) return [];
  const first = known.map(({ from }) => from).sort()[0]!;
  const last = lastOf(pipelines);
  const months: string[] = [];
  for (let month = monthOf(last); month >= monthOf(first); month = monthBefore(month)) months.push(month);
  return months;
}

/** The last day of any of them; '' where there is none. */
function lastOf(pipelines: readonly PipelineRow[]): Day {
  const known = pipelines.filter(({ cells }) => cells.length > 0);
  return known.reduce((last, { from, cells }) => maxDay(last, addDays(from, cells.length - 1)), '' as Day);
}

function monthBefore(month: string): string {
  return monthOf(addDays(firstDayOf(month), -1));
}

function firstDayOf(month: string): Day {
  return parseDay(`${month}-01`);
}

function yearLinks(months: readonly string[], year: number | null): Markup | null {
  const years = [...new Set(months.map((month) => month.slice(0, 4)))];
  if (years.length < 2 && year === null) return null;
  const current = (isCurrent: boolean) => (isCurrent ? html` aria-current="true"` : null);
  const links = years.map((text) => html`<a href="/?year=${text}#days"${current(Number(text) === year)}>${text}</a>\n`);
  return html`<nav class="years" aria-label="Years of the calendar"><a href="/#days"${current(year === null)}>Newest</a>
${links}</nav>`;
}

function legend(pipelines: readonly PipelineRow[]): Markup {
  const items = CELL_STATES.map((state) => {
    const count = pipelines.reduce((sum, { counts }) => sum + counts[state], 0);
    const letter = CELL_LETTERS[state];
    return html`<li data-letter="${letter}" data-word="${state}" data-sign="${signOf(state)}" title="${meaningOf(state)}"><span class="cell ${letter}" aria-hidden="true">${signOf(state)}</span>
${state} <span class="count" id="count-${letter}" data-live>${countText(count)}</span></li>
`;
  });
  return html`<ul class="legend" aria-label="What a day can be, and how many there are of each">${items}</ul>`;
}

function nameOf({ pipeline, enabled }: PipelineRow): Markup {
  return html`<div>${pipeline}${enabled ? null : html` <small>off</small>`}</div>`;
}

/** Up to the last day that is known. */
function monthTable(month: string, pipelines: readonly PipelineRow[], today: Day, last: Day): Markup {
  const first = firstDayOf(month);
  const end = addDays(first, daysInMonth(first) - 1);
  const days = daysOf({ from: first, to: minDay(end, maxDay(addDays(first, FEWEST_DAYS - 1), last)) });
  const heads = days.map(
    (day, i) =>
      html`<th scope="col"${day === today ? html` class="today" aria-label="${i + 1}, today"` : null}>${i + 1}</th>`,
  );
  const rows = pipelines.map(
    (row) => html`<tr><th scope="row" class="unseen">${row.pipeline}</th>${days.map((day) => dayCell(row, day))}</tr>
`,
  );
  return html`<table class="month" data-month="${month}"><caption><span>${monthName(month)}</span></caption>
<thead><tr><td class="unseen"></td>${heads}</tr></thead>
<tbody>${rows}</tbody></table>
`;
}

function daysInMonth(first: Day): number {
  const next = parseDay(`${monthOf(addDays(first, 31))}-01`);
  return daysBetween(first, next);
}

function monthName(month: string): string {
  return `${MONTH_NAMES[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`;
}

/** Empty where the pipeline has no such day. */
function dayCell({ pipeline, from, cells }: PipelineRow, day: Day): Markup {
  const letter = cells.charAt(daysBetween(from, day));
  const state = day < from ? null : stateOfLetter(letter);
  if (state === null) return html`<td></td>`;
  return html`<td><a class="cell ${letter}" href="${cellPath(pipeline, day)}" aria-label="${pipeline} ${day} ${state}">${signOf(state)}</a></td>`;
}
