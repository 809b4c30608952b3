/** What several sections are made of: a section with its heading, a table, a form that does one thing. */
import { html, type Markup } from '../../../core/markup.ts';
import type { SessionShown } from '../session-shown.ts';
import { minuteText } from './figures.ts';

export type Content = string | number | Markup | null | readonly Markup[];

interface SectionParts {
  readonly id: string;
  readonly title: string;
  readonly about?: string;
  /** Further classes, e.g. `half`. */
  readonly kind?: string;
  readonly body: Content;
}

/** A landmark by its heading. `data-live`: the script replaces what is inside when the server says something else. */
export function section({ id, title, about, kind = '', body }: SectionParts): Markup {
  const line = about === undefined ? null : html`<p class="about">${about}</p>`;
  return html`<section class="card ${kind}" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>${line}
<div id="${id}-live" data-live>${body}</div>
</section>
`;
}

export interface Column {
  readonly title: string;
  /** Numbers stand at the right, with digits of one width. */
  readonly number?: boolean;
}

interface TableParts {
  /** What the table holds, for those who do not see where it stands. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** The first cell of a row is its heading. */
  readonly rows: readonly (readonly Content[])[];
}

export function table({ caption, columns, rows }: TableParts): Markup {
  const kindOf = (i: number) => (columns[i]?.number ? 'number' : 'words');
  const head = columns.map(({ title }, i) => html`<th scope="col" class="${kindOf(i)}">${title}</th>`);
  const body = rows.map((cells) => {
    const shown = cells.map((cell, i) =>
      i === 0 ? html`<th scope="row" class="${kindOf(i)}">${cell}</th>` : html`<td class="${kindOf(i)}">${cell}</td>`,
    );
    return html`<tr>${shown}</tr>\n`;
  });
  return html`<div class="wide"><table><caption class="unseen">${caption}</caption><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>
`;
}

export function none(words: string): Markup {
  return html`<p class="none">${words}</p>`;
}

/** The day of a slice, which opens what is known of it. */
export function cellLink(pipeline: string, day: string, words = `${pipeline} ${day}`): Markup {
  return html`<a href="${cellPath(pipeline, day)}">${words}</a>`;
}

export function cellPath(pipeline: string, day: string): string {
  return `/cell/${encodeURIComponent(pipeline)}/${encodeURIComponent(day)}`;
}

export function time(iso: string): Markup {
  return html`<time datetime="${iso}">${minuteText(iso)}</time>`;
}

interface ActionParts {
  readonly path: '/release' | '/retry' | '/logout';
  readonly fields: Readonly<Record<string, string>>;
  readonly button: string;
  /** What the button does when it is read alone, without what stands around it. */
  readonly name: string;
  /** What does the same on the command line, for who is not signed in. */
  readonly command: string;
}

/** A button for who is signed in, else the command to type. */
export function action(parts: ActionParts, session: SessionShown): Markup {
  const { path, fields, button, name, command } = parts;
  if (!session.isSignedIn || session.csrf === null) return html`<code>${command}</code>`;
  const hidden = Object.entries({ csrf: session.csrf, ...fields }).map(
    ([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`,
  );
  return html`<form method="post" action="${path}">${hidden}<button type="submit" aria-label="${name}">${button}</button></form>`;
}
