/** What was done: how fresh every pipeline is, and the last runs with what they asked of the budgets. */
import { html, type Markup } from '../../../core/markup.ts';
import type { EndpointCalls, PageModel, RunRow } from '../model.ts';
import { counted, countText, durationText, wordsOf } from './figures.ts';
import { cellLink, none, section, table, time } from './pieces.ts';

export function pipelines({ pipelines: all }: PageModel): Markup {
  const number = true;
  const rows = all.map(({ pipeline, enabled, newest, days_behind: behind, counts, rows: held, rejects }) => [
    html`${pipeline}${enabled ? null : html` <span class="badge">off</span>`}`,
    newest === null ? html`<span class="soft">never loaded</span>` : cellLink(pipeline, newest, newest),
    behind === null ? '' : behind === 0 ? 'up to date' : counted(behind, 'day'),
    countText(held),
    countText(counts.settled + counts.quiet),
    countText(counts.open + counts.drifted),
    countText(counts.missing + counts.failed + counts.held),
    countText(rejects),
  ]);
  const columns = [
    { title: 'Pipeline' },
    { title: 'Newest day' },
    { title: 'Behind', number },
    { title: 'Rows', number },
    { title: 'Days done', number },
    { title: 'Days open', number },
    { title: 'Days lacking', number },
    { title: 'Rejects', number },
  ];
  return section({
    id: 'pipelines',
    title: 'Pipelines',
    body: table({ caption: 'Freshness of every pipeline', columns, rows }),
  });
}

export function runs({ runs: last, health }: PageModel): Markup {
  const number = true;
  const running = health.schedule?.running ?? null;
  const columns = [
    { title: 'Started' },
    { title: 'Command' },
    { title: 'Result' },
    { title: 'Took', number },
    { title: 'Rows', number },
    { title: 'Days changed', number },
    { title: 'Calls', number },
    { title: 'Of the budget' },
  ];
  const now =
    running &&
    html`<p class="running"><strong>Running</strong> since ${time(running.since)}: ${running.pipelines.join(', ')}</p>`;
  const rows = last.map((run) => [
    time(run.started_at),
    html`${run.command}${run.pipelines.length === 0 ? null : html` <span class="soft">${run.pipelines.join(', ')}</span>`}`,
    resultOf(run),
    run.duration_ms === null ? '' : durationText(run.duration_ms),
    run.summary ? countText(run.summary.rows) : '',
    run.summary ? countText(run.summary.slices_changed) : '',
    callsOf(run),
    budgetOf(run.calls),
  ]);
  return section({
    id: 'runs',
    title: 'Runs',
    about: 'The newest first. Of the budget: the busiest moment of the run, against what the endpoint allows then.',
    body: html`${now}${last.length === 0 ? none('No run yet: partner-etl run') : table({ caption: 'The last runs', columns, rows })}`,
  });
}

function resultOf({ run_id: id, result, is_at_work: isAtWork, summary }: RunRow): Markup {
  const word = html`<span class="result ${result ?? 'unended'}">${result === null ? (isAtWork ? 'running' : 'did not end') : wordsOf(result)}</span>`;
  const errors = summary?.errors ?? [];
  if (errors.length === 0) return word;
  return html`<details id="errors-${id}"><summary>${word} · ${counted(errors.length, 'error')}</summary><ul class="errors">${errors.map((text) => html`<li>${text}</li>`)}</ul></details>`;
}

function callsOf({ calls, summary }: RunRow): string {
  const made = calls.reduce((sum, one) => sum + one.calls, 0);
  const failed = calls.reduce((sum, one) => sum + one.failed, 0);
  if (calls.length === 0) return summary ? countText(summary.calls) : '';
  return failed === 0 ? countText(made) : `${countText(made)}, ${countText(failed)} failed`;
}

/** The endpoint that came nearest to its budget, and behind it all of them. */
function budgetOf(calls: readonly EndpointCalls[]): Markup | null {
  const limited = calls.filter(isLimited).sort((a, b) => shareOf(b) - shareOf(a));
  const [nearest, ...others] = limited;
  if (nearest === undefined) return null;
  return html`${budgetLine(nearest)}${others.length === 0 ? null : html`<details><summary>${counted(others.length, 'more endpoint')}</summary>${others.map(budgetLine)}</details>`}`;
}

type Limited = EndpointCalls & {
  readonly busiest: number;
  readonly budget_calls: number;
  readonly budget_seconds: number;
};

function isLimited(calls: EndpointCalls): calls is Limited {
  return calls.busiest !== null && calls.budget_calls !== null && calls.budget_seconds !== null;
}

function shareOf({ busiest, budget_calls: most }: Limited): number {
  return most === 0 ? 0 : busiest / most;
}

function budgetLine({ endpoint, busiest, budget_calls: most, budget_seconds: seconds }: Limited): Markup {
  const words = `${countText(busiest)} of ${countText(most)} in ${durationText(seconds * 1000)}`;
  return html`<div class="budget"><meter min="0" max="${most}" value="${busiest}" aria-label="${endpoint}: ${words}"></meter> <span>${endpoint} <span class="soft">${words}</span></span></div>`;
}
