/** What waits for a person: held slices, rejected rows; and what came that the contract does not know. */
import { html, type Markup } from '../../../core/markup.ts';
import type { PageModel } from '../model.ts';
import type { SessionShown } from '../session-shown.ts';
import { counted, countText, wordsOf } from './figures.ts';
import { action, cellLink, none, section, table, time } from './pieces.ts';

export function holds({ holds: held }: PageModel, session: SessionShown): Markup {
  const rows = held.map((hold) => [
    cellLink(hold.pipeline, hold.slice_day),
    html`<strong>${wordsOf(hold.reason)}</strong><br><span class="long">${hold.detail}</span>`,
    countText(hold.rows),
    countText(hold.rows_before),
    time(hold.held_at),
    releaseButton(hold.pipeline, hold.slice_day, session),
  ]);
  const columns = [
    { title: 'Slice' },
    { title: 'Why' },
    { title: 'Rows', number: true },
    { title: 'Before', number: true },
    { title: 'Since' },
    { title: 'Release' },
  ];
  return section({
    id: 'holds',
    title: 'Held back',
    about: 'Slices that were fetched and look wrong. Releasing one publishes it as it is.',
    body:
      held.length === 0
        ? none('Nothing is held back.')
        : html`${table({ caption: 'Slices that are held back', columns, rows })}${howToAct(session)}`,
  });
}

export function releaseButton(pipeline: string, day: string, session: SessionShown): Markup {
  return action(
    {
      path: '/release',
      fields: { pipeline, day },
      button: 'Release',
      name: `Release ${pipeline} ${day}`,
      command: `partner-etl release ${pipeline} ${day}`,
    },
    session,
  );
}

export function retryButton(pipeline: string, session: SessionShown): Markup {
  return action(
    {
      path: '/retry',
      fields: { pipeline },
      button: 'Try again',
      name: `Try the rejected rows of ${pipeline} again`,
      command: `partner-etl rejects ${pipeline} --retry`,
    },
    session,
  );
}

export function howToAct({ isSignedIn, hasToken }: SessionShown): Markup | null {
  if (isSignedIn) return null;
  return hasToken
    ? html`<p class="about">Type the command where partner-etl runs, or <a href="/login">sign in</a> for a button.</p>`
    : html`<p class="about">Type the command where partner-etl runs. With <code>PARTNER_ETL_PAGE_TOKEN</code> set, there is a button for it.</p>`;
}

export function rejects({ rejects: all }: PageModel, session: SessionShown): Markup {
  const pipelines = [...new Set(all.map(({ pipeline }) => pipeline))];
  const rows = all.map((reject) => [
    cellLink(reject.pipeline, reject.slice_day),
    wordsOf(reject.reason),
    html`<span class="long">${reject.detail}</span>`,
    countText(reject.count),
  ]);
  const columns = [{ title: 'Slice' }, { title: 'Reason' }, { title: 'For example' }, { title: 'Rows', number: true }];
  const again = pipelines.map((pipeline) => {
    const count = all.reduce((sum, reject) => (reject.pipeline === pipeline ? sum + reject.count : sum), 0);
    return html`<li><span>${pipeline}: ${counted(count, 'row')}</span> ${retryButton(pipeline, session)}</li>\n`;
  });
  const list = html`<ul class="actions">${again}</ul>${howToAct(session)}`;
  return section({
    id: 'rejects',
    title: 'Rejected rows',
    about:
      'Rows that could not be loaded, kept as they came. Trying again reads them from the raw store once more, without a call.',
    body:
      all.length === 0
        ? none('No row is rejected.')
        : html`${list}${table({ caption: 'Rejected rows by slice and reason', columns, rows })}`,
  });
}

export function drift({ drift: seen }: PageModel): Markup {
  const rows = seen.map((one) => [
    one.pipeline,
    wordsOf(one.kind),
    html`<code>${one.field}</code>`,
    countText(one.count),
    time(one.first_seen_at),
    html`<span class="long">${one.example}</span>`,
  ]);
  const columns = [
    { title: 'Pipeline' },
    { title: 'What' },
    { title: 'Field' },
    { title: 'Count', number: true },
    { title: 'First seen' },
    { title: 'For example' },
  ];
  return section({
    id: 'drift',
    title: 'Drift',
    about: 'What the last runs saw that the contract does not know. It is loaded all the same.',
    body:
      seen.length === 0
        ? none('The last runs saw nothing new.')
        : table({ caption: 'Drift of the last runs', columns, rows }),
  });
}
