/** What is known of one slice: what `explain` says, as a page, which the script shows in a dialog. */
import { addDays } from '../../../core/days.ts';
import { html, type Markup } from '../../../core/markup.ts';
import { prunedWords } from '../../../core/pruned.ts';
import type { FetchRecord } from '../../../core/records.ts';
import type { Explanation, TargetVersions } from '../../../run/status/explain.ts';
import type { SessionShown } from '../session-shown.ts';
import { counted, countText, sumText, wordsOf } from './figures.ts';
import { frame } from './frame.ts';
import { type Content, cellPath, none, table, time } from './pieces.ts';
import { howToAct, releaseButton, retryButton } from './set-aside.ts';

export function cellHtml(explanation: Explanation, session: SessionShown): string {
  const { pipeline, day } = explanation;
  return frame({
    title: `${pipeline} ${day} – partner-etl`,
    body: html`<article class="card" id="cell">
<h1>${pipeline} <span class="day">${day}</span> <span class="badge">${wordOf(explanation)}</span></h1>
<nav class="neighbours" aria-label="Neighbouring days"><a href="${cellPath(pipeline, addDays(day, -1))}">${addDays(day, -1)}</a>
<a href="${cellPath(pipeline, addDays(day, 1))}">${addDays(day, 1)}</a> <a class="home" href="/">All days</a></nav>
${facts(explanation)}
${held(explanation, session)}
${sums(explanation)}
${fetches(explanation)}
${explanation.targets.map(versions)}
${drift(explanation)}
${rejects(explanation, session)}
</article>
`,
  });
}

function wordOf({ content, held: hold, held_by_check: byCheck }: Explanation): string {
  if (hold || byCheck) return 'held back';
  if (!content) return 'never loaded';
  return content.settled ? 'settled' : 'open';
}

function facts({ content, moved }: Explanation): Markup {
  const note = moved
    ? html`<p>An item of this day turned up on another day; the service will be asked again.</p>`
    : null;
  if (!content) return html`${note}`;
  const facts: [string, Content][] = [
    ['Rows', countText(content.rows)],
    ['Rejected', countText(content.rejects)],
    ['Duplicates dropped', countText(content.duplicates)],
    ['Fetched', html`${time(content.fetched_at)} UTC`],
    ['Fetch', html`<code>${content.fetch_id}</code>`],
    ['Content', html`<code title="${content.digest}">${content.digest.slice(0, 16)}</code>`],
  ];
  return html`<dl class="facts">${facts.map(([term, what]) => html`<div><dt>${term}</dt><dd>${what}</dd></div>\n`)}</dl>${note}`;
}

function held(
  { pipeline, day, held: hold, held_by_check: byCheck }: Explanation,
  session: SessionShown,
): Markup | null {
  const all = [hold, byCheck].filter((one) => one !== null);
  if (all.length === 0) return null;
  return html`<section class="hold"><h2>Held back</h2>
${all.map((one) => html`<p>Since ${time(one.held_at)} UTC: <strong>${wordsOf(one.reason)}</strong>. ${one.detail}</p>\n`)}
<div class="act">Releasing it publishes it as it is. ${releaseButton(pipeline, day, session)}</div>${howToAct(session)}</section>
`;
}

function sums({ content }: Explanation): Markup | null {
  const entries = Object.entries(content?.sums ?? {});
  if (entries.length === 0) return null;
  return html`<h2>Control sums</h2>
${table({
  caption: 'Control sums',
  columns: [{ title: 'Column' }, { title: 'Sum', number: true }],
  rows: entries.map(([column, sum]) => [html`<code>${column}</code>`, sum === null ? '∅' : sumText(sum)]),
})}`;
}

function fetches({ fetches: shown, fetch_count: count }: Explanation): Markup {
  const heading = html`<h2>Fetches</h2>`;
  if (shown.length === 0) return html`${heading}${none('Nobody has asked for this day.')}`;
  const columns = [
    { title: 'At' },
    { title: 'Window' },
    { title: 'Status', number: true },
    { title: 'Items', number: true },
    { title: 'Fetch' },
    { title: 'sha256' },
    { title: 'Note' },
  ];
  const rows = [...shown]
    .reverse()
    .map((fetch) => [
      time(fetch.finished_at),
      windowOf(fetch),
      fetch.status ?? '',
      fetch.items === null ? '' : countText(fetch.items),
      html`<code>${fetch.fetch_id}</code>`,
      html`<code>${fetch.sha256?.slice(0, 12) ?? ''}</code>`,
      html`<span class="long">${fetch.pruned_at === undefined ? (fetch.error_message ?? '') : `answer ${prunedWords(fetch.pruned_at)}`}</span>`,
    ]);
  const part =
    shown.length === count
      ? null
      : html`<p class="about">The newest ${countText(shown.length)} of ${countText(count)}.</p>`;
  return html`${heading}${part}${table({ caption: 'Fetches that covered the day, newest first', columns, rows })}`;
}

function windowOf({ window_from: from, window_to: to, notes }: FetchRecord): string {
  if (from === null) return notes?.file_name ?? '';
  return from === to ? from : `${from} to ${to}`;
}

function versions({ target, receipts, error }: TargetVersions): Markup {
  const heading = html`<h2>Versions in ${target}</h2>`;
  if (error !== null) return html`${heading}<p class="problem">${error}</p>`;
  if (receipts === null || receipts.rows.length === 0) return html`${heading}${none('None is loaded there.')}`;
  return html`${heading}${table({
    caption: `Versions of the day in ${target}, oldest first`,
    columns: receipts.columns.map((title) => ({
      title: wordsOf(title),
      number: ['rows', 'rejects', 'duplicates'].includes(title),
    })),
    rows: receipts.rows.map((row) => row.map((value, i) => versionCell(receipts.columns[i] ?? '', value))),
  })}`;
}

function versionCell(column: string, value: string | boolean | null): Content {
  if (value === null) return '∅';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (column === 'digest') return html`<code title="${value}">${value.slice(0, 12)}</code>`;
  return column === 'sums' ? html`<details><summary>sums</summary><code class="long">${value}</code></details>` : value;
}

function drift({ drift: seen }: Explanation): Markup | null {
  if (seen.length === 0) return null;
  const columns = [{ title: 'What' }, { title: 'Field' }, { title: 'Count', number: true }, { title: 'For example' }];
  const rows = seen.map((one) => [
    wordsOf(one.kind),
    html`<code>${one.field}</code>`,
    countText(one.count),
    html`<span class="long">${one.example}</span>`,
  ]);
  return html`<h2>Drift</h2>
<p class="about">In the answer that brought this day, its other days too.</p>
${table({ caption: 'Drift in the answer', columns, rows })}`;
}

function rejects({ pipeline, content, rejects: shown }: Explanation, session: SessionShown): Markup | null {
  if (shown.length === 0) return null;
  const all = content?.rejects ?? shown.length;
  const part = all > shown.length ? ` The first ${countText(shown.length)} of ${counted(all, 'row')}.` : '';
  const columns = [{ title: 'Item', number: true }, { title: 'Reason' }, { title: 'Detail' }, { title: 'As it came' }];
  const rows = shown.map(({ item, reason, detail, raw }) => [
    countText(item),
    wordsOf(reason),
    html`<span class="long">${detail}</span>`,
    html`<code class="long">${raw}</code>`,
  ]);
  return html`<h2>Rejected rows</h2>
<p class="about">Item: its place in the answer, from 0.${part}</p>
<div class="act">Try the rejected rows of ${pipeline} again: ${retryButton(pipeline, session)}</div>${howToAct(session)}
${table({ caption: 'Rejected rows of the day', columns, rows })}`;
}
