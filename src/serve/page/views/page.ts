/** The status page: first what needs somebody, then everything else. Made for a reader without a script; the script keeps it alive. */
import { html, type Markup } from '../../../core/markup.ts';
import type { PageModel } from '../model.ts';
import type { SessionShown } from '../session-shown.ts';
import { versionOf } from '../version.ts';
import { calendar } from './calendar.ts';
import { minuteText } from './figures.ts';
import { frame } from './frame.ts';
import { money, reconciliation } from './money.ts';
import { action } from './pieces.ts';
import { pushes, service, targets } from './service.ts';
import { drift, holds, rejects } from './set-aside.ts';
import { summaryMarkup, summaryOf } from './summary.ts';
import { pipelines, runs } from './work.ts';

const SECTIONS = [
  ['days', 'Days'],
  ['holds', 'Held back'],
  ['rejects', 'Rejects'],
  ['money', 'Money'],
  ['reconciliation', 'Reconciliation'],
  ['pipelines', 'Pipelines'],
  ['runs', 'Runs'],
  ['service', 'Service'],
  ['pushes', 'Pushes'],
  ['targets', 'Warehouses'],
  ['drift', 'Drift'],
] as const;

/** `year`: the calendar's, as far as it goes without a script; null: the newest twelve months. */
export function pageHtml(model: PageModel, session: SessionShown, year: number | null = null): string {
  return frame({
    title: `${summaryOf(model).sentence} – partner-etl`,
    aside: html`${madeAt(model)}${signing(session)}`,
    before: navigation(),
    isAlive: true,
    version: versionOf(model, session),
    body: html`${notice(session)}
${summaryMarkup(model)}
${calendar(model, year)}
${holds(model, session)}
${rejects(model, session)}
${money(model)}
${reconciliation(model)}
${pipelines(model)}
${runs(model)}
<div class="halves">
${service(model)}
${pushes(model)}
${targets(model)}
</div>
${drift(model)}
<p id="news" class="unseen" role="status" aria-live="polite"></p>
<dialog id="cell-dialog" aria-label="Day of a pipeline"></dialog>
`,
  });
}

function madeAt({ made_at: at }: PageModel): Markup {
  return html`<p class="made"><span id="connection" role="status"></span><span class="soft">As of <time id="made-at" datetime="${at}">${minuteText(at)}:${at.slice(17, 19)}</time> UTC</span></p>`;
}

function signing(session: SessionShown): Markup | null {
  if (!session.hasToken) return null;
  if (!session.isSignedIn) return html`<a class="sign" href="/login">Sign in</a>`;
  return action({ path: '/logout', fields: {}, button: 'Sign out', name: 'Sign out', command: '' }, session);
}

function navigation(): Markup {
  const links = SECTIONS.map(([id, words]) => html`<li><a href="#${id}">${words}</a></li>\n`);
  return html`<nav class="sections" aria-label="Sections"><ul>${links}</ul></nav>
`;
}

function notice({ notice: words }: SessionShown): Markup | null {
  return words === null ? null : html`<p class="notice" id="notice" role="status">${words}</p>`;
}
