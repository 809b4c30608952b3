/** Who this installation talks to: the partner service and its token, pushes, warehouses, and serve itself. */
import { html, type Markup } from '../../../core/markup.ts';
import type { PageModel, PushDay, TokenState } from '../model.ts';
import { counted, countText } from './figures.ts';
import { none, section, table, time } from './pieces.ts';

export function service({ health, tokens, inbox }: PageModel): Markup {
  const { schedule, receiving, locked } = health;
  const facts: [string, string | Markup][] = [
    ['Ready', health.ready ? 'yes' : html`<strong>no</strong>`],
    ['Locks', locked ? 'held' : html`<strong>not held</strong>`],
    [
      'Push messages',
      receiving === null ? 'switched off' : receiving ? 'received' : html`<strong>not received</strong>`,
    ],
    [
      'Scheduler',
      schedule === null
        ? health.standing_by
          ? 'stands by: another host starts the runs'
          : 'switched off'
        : schedule.running
          ? html`running ${schedule.running.pipelines.join(', ')} since ${time(schedule.running.since)}`
          : 'waiting',
    ],
  ];
  if (schedule) facts.push(['Next run due', schedule.next_due_at === null ? 'never' : time(schedule.next_due_at)]);
  if (schedule?.missed_since) facts.push(['Missed since', html`<strong>${time(schedule.missed_since)}</strong>`]);
  if (inbox)
    facts.push([
      'Inbox',
      inbox.messages === 0 ? 'empty' : `${counted(inbox.messages, 'message')}, ${countText(inbox.bytes)} bytes`,
    ]);
  return section({
    id: 'service',
    title: 'Service and token',
    kind: 'half',
    body: html`<dl class="facts">${facts.map(([term, what]) => html`<div><dt>${term}</dt><dd>${what}</dd></div>\n`)}</dl>
${tokens.length === 0 ? none('No credentials are set.') : tokens.map(tokenState)}`,
  });
}

/** Too many requests for a token get an address banned: how many are left of those that are allowed in an hour. */
function tokenState({
  credentials,
  valid_until: until,
  requests_last_hour: made,
  most_per_hour: most,
  blocked_until: blocked,
}: TokenState): Markup {
  const left = Math.max(0, most - made);
  const label = `${countText(made)} of ${countText(most)} token requests in the last hour`;
  const ban =
    blocked === null
      ? null
      : html`<p class="problem">Refused: nobody asks again before ${time(blocked)}. Check the credentials with <code>partner-etl doctor</code>.</p>`;
  return html`<div class="token"><h3>Token of ${credentials}</h3>
<p>${until === null ? 'none at hand' : html`valid until ${time(until)}`}</p>
<p><meter min="0" max="${most}" low="${most * 0.5}" high="${most * 0.8}" optimum="0" value="${Math.min(made, most)}" aria-label="${label}"></meter>
${label}: <strong>${countText(left)} left</strong> before a ban comes near</p>${ban}</div>
`;
}

export function targets({ targets: all }: PageModel): Markup {
  const rows = all.map(({ target, slices_behind: behind, error }) => [
    target,
    error === null
      ? behind === 0
        ? 'holds everything that the lake holds'
        : html`<strong>lacks ${counted(behind ?? 0, 'slice')}</strong> of the lake`
      : html`<span class="problem">${error}</span>`,
  ]);
  return section({
    id: 'targets',
    title: 'Warehouses',
    kind: 'half',
    body:
      all.length === 0
        ? none('No warehouse is set.')
        : table({ caption: 'Warehouses and what they lack', columns: [{ title: 'Target' }, { title: 'State' }], rows }),
  });
}

/** Width and height of the bars, in units of their picture. */
const BAR = 10;
const HEIGHT = 60;

export function pushes({ pushes: days }: PageModel): Markup {
  const rows = [...days].reverse().map(({ day, received, refused }) => [day, countText(received), countText(refused)]);
  const columns = [{ title: 'Day' }, { title: 'Received', number: true }, { title: 'Refused', number: true }];
  const received = days.reduce((sum, day) => sum + day.received, 0);
  const refused = days.reduce((sum, day) => sum + day.refused, 0);
  return section({
    id: 'pushes',
    title: 'Push messages',
    kind: 'half',
    body:
      days.length === 0
        ? none('Nothing was pushed lately.')
        : html`<p>${counted(received, 'message')} received and ${countText(refused)} refused in ${counted(days.length, 'day')}.</p>
${bars(days)}<details id="pushes-by-day"><summary>By day</summary>${table({ caption: 'Push messages by day', columns, rows })}</details>`,
  });
}

/** What was refused stands on top of what was received. The table says the same in figures. */
function bars(days: readonly PushDay[]): Markup {
  const most = Math.max(1, ...days.map(({ received, refused }) => received + refused));
  const tall = (count: number) => Math.round((count / most) * HEIGHT * 10) / 10;
  const width = days.length * BAR;
  const drawn = days.map(({ day, received, refused }, i) => {
    const [taken, turned] = [tall(received), tall(refused)];
    return html`<g><title>${day}: ${countText(received)} received, ${countText(refused)} refused</title>
<rect class="received" x="${i * BAR + 1}" y="${HEIGHT - taken}" width="${BAR - 2}" height="${taken}"/><rect class="refused" x="${i * BAR + 1}" y="${HEIGHT - taken - turned}" width="${BAR - 2}" height="${turned}"/></g>
`;
  });
  return html`<svg class="bars" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Push messages by day, ${days[0]!.day} to ${days.at(-1)!.day}">${drawn}</svg>
`;
}
