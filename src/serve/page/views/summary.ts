/** The first thing to read: whether all is well, what needs a person, and what is worth a look. */

import { daysBetween } from '../../../core/days.ts';
import { html, type Markup } from '../../../core/markup.ts';
import { type Judged, needsOf, sentenceOf } from '../../../run/status/verdict.ts';
import { CELL_LETTERS, type PageModel, type PipelineRow } from '../model.ts';
import { counted, minuteText } from './figures.ts';

interface Point {
  /** Begins in lower case, so that it can stand in a sentence. */
  readonly words: string;
  /** Section that says more. */
  readonly about: string;
}

export interface Summary {
  readonly sentence: string;
  readonly needs: readonly Point[];
  /** Nothing is wrong, but somebody may want to know. */
  readonly looks: readonly Point[];
}

export function summaryOf(model: PageModel): Summary {
  const judged = judgedOf(model);
  const needs = [...serviceNeeds(model), ...needsOf(judged)];
  return { sentence: sentenceOf(judged, needs.length), needs, looks: looksOf(model) };
}

function judgedOf({ pipelines, targets, runs, holds, rejects }: PageModel): Judged {
  return {
    pipelines: pipelines.map((row) => ({ ...row, failed: row.counts.failed, gaps: gapsOf(row) })),
    targets,
    runs,
    isAtWork: runs.some((run) => run.is_at_work),
    holds: holds.length,
    rejects: rejects.reduce((sum, { count }) => sum + count, 0),
  };
}

function serviceNeeds({ health, tokens }: PageModel): Point[] {
  const needs: Point[] = [];
  const need = (words: string) => needs.push({ words, about: 'service' });
  for (const { credentials, blocked_until: until } of tokens)
    if (until) need(`the credentials ${credentials} were refused; nobody asks again before ${minuteText(until)}`);
  if (!health.locked) need('serve does not hold its locks');
  if (health.receiving === false) need('push messages are not received');
  if (health.schedule?.missed_since)
    need(`no run was begun that was due at ${minuteText(health.schedule.missed_since)}`);
  return needs;
}

/** Missing days before the newest that is loaded; later ones count as being behind. */
function gapsOf({ from, cells, newest }: PipelineRow): number {
  const loaded = newest === null ? '' : cells.slice(0, daysBetween(from, newest));
  return loaded.split(CELL_LETTERS.missing).length - 1;
}

function looksOf({ drift, reconciliation }: PageModel): Point[] {
  const unexplained = (reconciliation ?? []).filter((row) => row.class === 'unexplained');
  const groups = unexplained.reduce((sum, row) => sum + row.groups, 0);
  return [
    ...(drift.length > 0 ? [{ words: `${counted(drift.length, 'kind')} of drift`, about: 'drift' }] : []),
    ...(groups > 0
      ? [{ words: `${counted(groups, 'group')} of the reports differ without an explanation`, about: 'reconciliation' }]
      : []),
  ];
}

export function summaryMarkup(model: PageModel): Markup {
  const { sentence, needs, looks } = summaryOf(model);
  const point = ({ words, about }: Point) => html`<li><a href="#${about}">${capital(words)}</a></li>\n`;
  const list = needs.length === 0 ? null : html`<ul class="needs">${needs.map(point)}</ul>`;
  const seen = looks.map(
    ({ words, about }, i) => html`${i === 0 ? 'Worth a look: ' : ', '}<a href="#${about}">${words}</a>`,
  );
  return html`<div id="summary" class="summary ${needs.length === 0 ? 'well' : 'needy'}" data-live>
<h1>${sentence}</h1>
${list}${looks.length === 0 ? null : html`<p class="looks">${seen}.</p>`}
</div>
`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
