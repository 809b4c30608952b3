/** The dictionary as one page: it loads nothing, reads well on paper, and runs no script but its own. */
import { createHash } from 'node:crypto';
import { html, Markup } from '../../core/markup.ts';
import type { QueryResult } from '../../warehouse/target.ts';
import { diagram } from '../diagram.ts';
import { type DocColumn, type Docs, type DocTable, nameOf, SCHEMAS } from '../model.ts';
import { anchorsOf, badgesOf, CONVENTIONS, factsOf, piecesOf, summaryOf, titleOf } from '../prose.ts';
import type { DocQuestion } from '../questions.ts';
import { PAGE_SCRIPT } from './script.ts';
import { PAGE_STYLE } from './style.ts';

/** Turns a sentence into markup. */
type Say = (text: string) => Markup;

/** The same dictionary gives the same bytes. */
export function pageOf(docs: Docs): string {
  const anchors = anchorsOf(docs.tables);
  const say: Say = (text) => html`${piecesOf(text, anchors).map(pieceMarkup)}`;
  const policy = `default-src 'none'; style-src ${hashOf(PAGE_STYLE)}; script-src ${hashOf(PAGE_SCRIPT)}; base-uri 'none'; form-action 'none'`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>partner-etl: data dictionary</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<div class="frame">
${navigation(docs)}
<main>
<h1>Data dictionary</h1>
<p>${summaryOf(docs)}</p>
<ul>${CONVENTIONS.map((text) => html`<li>${text}</li>`)}</ul>
${trapsPart(docs, say)}
${diagramsPart(docs, say)}
${docs.questions.length === 0 ? null : questionsPart(docs.questions, say)}
${SCHEMAS.map((schema) => schemaPart(schema, docs, say))}
</main>
</div>
<script>${new Markup(PAGE_SCRIPT)}</script>
</body>
</html>
`.text;
}

/** What a Content-Security-Policy calls an inline text. */
function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function pieceMarkup({ text, isCode, anchor }: ReturnType<typeof piecesOf>[number]): Markup {
  const inner = isCode ? html`<code>${text}</code>` : html`${text}`;
  return anchor === null ? inner : html`<a href="#${anchor}">${inner}</a>`;
}

function navigation({ tables, questions }: Docs): Markup {
  const link = (table: DocTable) =>
    html`<li><a href="#${nameOf(table)}" data-of="${nameOf(table)}">${table.name}</a></li>`;
  const schemas = SCHEMAS.map(
    (schema) => html`<h2><a href="#schema-${schema}">${schema}</a></h2>
<ul>${tables.filter((t) => t.schema === schema).map(link)}</ul>
`,
  );
  return html`<nav aria-label="Contents">
<div id="searching" hidden><label for="search">Search tables and columns</label>
<input type="search" id="search" autocomplete="off"><output id="found" for="search"></output></div>
<ul><li><a href="#traps">Where readers go wrong</a></li><li><a href="#joins">How tables join</a></li>
${questions.length === 0 ? null : html`<li><a href="#questions">Questions and their SQL</a></li>`}</ul>
${schemas}</nav>`;
}

function trapsPart({ traps }: Docs, say: Say): Markup {
  const entries = traps.map(({ trap, on }) => {
    const where = on.length === 0 ? null : html` <span class="source">${say(on.join(', '))}</span>`;
    return html`<li class="trap">${say(trap)}${where}</li>\n`;
  });
  return html`<section class="part" id="traps"><h2>Where readers go wrong</h2>
<ul class="traps">${entries}</ul></section>`;
}

function diagramsPart({ groups }: Docs, say: Say): Markup {
  const drawn = groups.map((group) => {
    const notes = group.relations.flatMap((r) => (r.note === null ? [] : [`${r.from} → ${r.to}: ${r.note}`]));
    return html`<h3>${group.title}</h3>
<p class="about">${say(group.about)}</p>
<div class="wide">${diagram(group)}</div>
${notes.length === 0 ? null : html`<ul class="facts">${notes.map((note) => html`<li>${say(note)}</li>`)}</ul>`}
`;
  });
  return html`<section class="part" id="joins"><h2>How tables join</h2>
<p>At the ends of a line stands how many rows of that side belong to one of the other; n is any number.</p>
${drawn}</section>`;
}

function questionsPart(questions: readonly DocQuestion[], say: Say): Markup {
  const articles = questions.map(
    ({ number, slug, question, reading, statements, answer }) => html`<article id="question-${slug}">
<h3>${number}. ${question}</h3>
<ul>${reading.map((text) => html`<li>${say(text)}</li>`)}</ul>
${statements.map(({ engine, sql }) => html`${engine === 'SQL' ? null : html`<p class="facts">${engine}</p>`}<div class="sql"><button type="button" hidden>copy</button><pre>${sql}</pre></div>`)}
${answer === null ? null : answerMarkup(answer)}</article>
`,
  );
  return html`<section class="part" id="questions"><h2>Questions and their SQL</h2>
${articles}</section>`;
}

function answerMarkup({ columns, rows, truncated }: QueryResult): Markup {
  const cell = (value: string | boolean | null) => {
    const text = value === null ? '∅' : String(value);
    return /^-?[\d.]+(?:e[+-]?\d+)?$/.test(text) ? html`<td class="number">${text}</td>` : html`<td>${text}</td>`;
  };
  const more = rows.length === 0 ? html`<p class="facts">No rows.</p>` : null;
  return html`<div class="wide"><table class="answer"><thead><tr>${columns.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody></table></div>
${more}${truncated ? html`<p class="facts">The first ${rows.length} rows.</p>` : null}`;
}

function schemaPart(schema: string, { tables }: Docs, say: Say): Markup {
  const mine = tables.filter((t) => t.schema === schema);
  return html`<section class="part" id="schema-${schema}"><h2>${schema}</h2>
${mine.map((table) => tableMarkup(table, say))}</section>
`;
}

function tableMarkup(table: DocTable, say: Say): Markup {
  const name = nameOf(table);
  const facts = factsOf(table);
  const rows = table.columns.map((column) => columnRow(name, column, say));
  const columns = html`<div class="wide"><table class="columns"><thead><tr><th>column</th><th>type</th><th>meaning</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
  return html`<section class="thing" id="${name}"><header><h3><a href="#${name}">${titleOf(table)}</a> <span class="badge">${table.kind}</span></h3>
<p class="about">${say(table.about)}</p>
${facts.length === 0 ? null : html`<p class="facts">${facts.map((fact) => html`${say(fact)} `)}</p>`}
${table.traps.map((trap) => html`<div class="trap">${say(trap)}</div>`)}</header>
${rows.length === 0 ? null : columns}</section>
`;
}

function columnRow(table: string, column: DocColumn, say: Say): Markup {
  const badges = badgesOf(column).map((badge) => html` <span class="badge">${badge}</span>`);
  const source = column.source === null ? null : html`<div class="source">${say(column.source)}</div>`;
  return html`<tr id="${table}.${column.name}"><td>${column.name}</td><td class="type">${column.duckdbType}<span>${column.postgresType}</span></td>
<td>${say(column.about)}${badges}${source}${column.traps.map((trap) => html`<div class="trap">${say(trap)}</div>`)}</td></tr>
`;
}
