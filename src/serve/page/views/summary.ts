/** The first thing to read: whether all is well, what needs a person, and what is worth a look. */

import { daysBetween } from '../../../core/days.ts';
import { html, type Markup } from '../../../core/markup.ts';
import { CELL_LETTERS, type PageModel, type PipelineRow } from '../model.ts';
import { counted, minuteText } from './figures.ts';

export interface Point {
  /** Begins in lower case, so that it can stand in a sentence. */
  readonly words: string;
  /** Section that tells more. */
  readonly href: string;
}

export interface Summary {
  readonly sentence: string;
  readonly needs: readonly Point[];
  /** Nothing is wrong, but somebody may want to know. */
  readonly looks: readonly Point[];
}

export function summaryOf(model: PageModel): Summary {
  const needs = [...serviceNeeds(model), ...dataNeeds(model), ...targetNeeds(model)];
  return { sentence: sentenceOf(model, needs), needs, looks: looksOf(model) };
}

function sentenceOf({ pipelines }: PageModel, needs: readonly Point[]): string {
  if (needs.length > 0) return counted(needs.length, 'thing needs you', 'things need you');
  const loaded = pipelines.filter(
    (p): p is PipelineRow & { newest: NonNullable<PipelineRow['newest']> } => p.enabled && p.newest !== null,
  );
  const told = loaded.find(({ pipeline }) => pipeline === 'orders') ?? loaded[0];
  return told ? `All is well: newest ${told.pipeline} ${told.newest}` : 'All is well';
}

function serviceNeeds({ health, tokens, runs }: PageModel): Point[] {
  const needs: Point[] = [];
  const point = (words: string, href: string) => needs.push({ words, href });
  for (const { credentials, blocked_until: until } of tokens)
    if (until)
      point(`the credentials ${credentials} were refused; nobody asks again before ${minuteText(until)}`, '#service');
  if (!health.locked) point('serve does not hold its locks', '#service');
  if (health.receiving === false) point('push messages are not received', '#service');
  if (health.schedule?.missed_since)
    point(`no run was begun that was due at ${minuteText(health.schedule.missed_since)}`, '#service');
  const last = runs.find((run) => run.result !== null);
  if (last?.result === 'failed' || last?.result === 'refused')
    point(`the last run ${last.result === 'failed' ? 'failed' : 'was refused'}`, '#runs');
  return needs;
}

/** A pipeline may be this much behind before anybody needs to know: the night has not been yet. */
const DAYS_BEHIND = 1;

function dataNeeds({ pipelines, holds, rejects }: PageModel): Point[] {
  const enabled = pipelines.filter((p) => p.enabled);
  const failed = enabled.reduce((sum, { counts }) => sum + counts.failed, 0);
  const missing = enabled.reduce((sum, row) => sum + gapsOf(row), 0);
  if (enabled.every(({ newest }) => newest === null))
    return [{ words: 'nothing is loaded yet: partner-etl run loads the first nights', href: '#days' }];
  const needs: Point[] = [];
  const rejected = rejects.reduce((sum, { count }) => sum + count, 0);
  if (holds.length > 0)
    needs.push({ words: `${counted(holds.length, 'slice is', 'slices are')} held back`, href: '#holds' });
  if (failed > 0) needs.push({ words: `${counted(failed, 'day')} could not be fetched`, href: '#days' });
  if (missing > 0) needs.push({ words: `${counted(missing, 'day is', 'days are')} missing`, href: '#days' });
  if (rejected > 0) needs.push({ words: `${counted(rejected, 'row was', 'rows were')} rejected`, href: '#rejects' });
  for (const { pipeline, days_behind: behind } of enabled)
    if (behind !== null && behind > DAYS_BEHIND)
      needs.push({ words: `${pipeline} is ${behind} days behind`, href: '#pipelines' });
  return needs;
}

/** Missing days before the newest that is loaded; later ones are told as being behind. */
function gapsOf({ from, cells, newest }: PipelineRow): number {
  const loaded = newest === null ? '' : cells.slice(0, daysBetween(from, newest));
  return loaded.split(CELL_LETTERS.missing).length - 1;
}

function targetNeeds({ targets }: PageModel): Point[] {
  return targets.flatMap(({ target, slices_behind: behind, error }) => {
    if (error !== null) return [{ words: `${target} could not be asked`, href: '#targets' }];
    return behind ? [{ words: `${target} lacks ${counted(behind, 'slice')}`, href: '#targets' }] : [];
  });
}

function looksOf({ drift, reconciliation }: PageModel): Point[] {
  const unexplained = (reconciliation ?? []).filter((row) => row.class === 'unexplained');
  const groups = unexplained.reduce((sum, row) => sum + row.groups, 0);
  return [
    ...(drift.length > 0 ? [{ words: `${counted(drift.length, 'kind')} of drift`, href: '#drift' }] : []),
    ...(groups > 0
      ? [{ words: `${counted(groups, 'group')} of the reports differ without an explanation`, href: '#reconciliation' }]
      : []),
  ];
}

export function summaryMarkup(model: PageModel): Markup {
  const { sentence, needs, looks } = summaryOf(model);
  const point = ({ words, href }: Point) => html`<li><a href="${href}">${capital(words)}</a></li>\n`;
  const list = needs.length === 0 ? null : html`<ul class="needs">${needs.map(point)}</ul>`;
  const seen = looks.map(
    ({ words, href }, i) => html`${i === 0 ? 'Worth a look: ' : ', '}<a href="${href}">${words}</a>`,
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
