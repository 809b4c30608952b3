/** The dictionary as Markdown, for a repository or a wiki; diagrams are mermaid's. */
import type { QueryResult } from '../warehouse/target.ts';
import { type DocColumn, type Docs, type DocTable, nameOf, SCHEMAS } from './model.ts';
import { anchorsOf, badgesOf, CONVENTIONS, factsOf, piecesOf, summaryOf, titleOf } from './prose.ts';
import type { DocQuestion } from './questions.ts';
import type { Cardinality, Relation, RelationGroup } from './relations.ts';

/** Turns a sentence into Markdown. */
type Say = (text: string) => string;

/** The same dictionary gives the same bytes. */
export function markdownOf(docs: Docs): string {
  const anchors = anchorsOf(docs.tables);
  const say: Say = (text) => piecesOf(text, anchors).map(pieceText).join('');
  const lines = [
    '# Data dictionary',
    '',
    summaryOf(docs),
    '',
    ...CONVENTIONS.map((text) => `- ${text}`),
    '',
    '## What there is',
    '',
    ...indexLines(docs.tables, say),
    '## Where readers go wrong',
    '',
    ...docs.traps.map(({ trap, on }) => `- ${say(trap)}${on.length === 0 ? '' : ` (${say(on.join(', '))})`}`),
    '',
    '## How tables join',
    '',
    ...docs.groups.flatMap((group) => groupLines(group, docs.tables, say)),
    ...(docs.questions.length === 0 ? [] : ['## Questions and their SQL', '']),
    ...docs.questions.flatMap((question) => questionLines(question, say)),
    ...SCHEMAS.flatMap((schema) => [
      `## ${schema}`,
      '',
      ...docs.tables.filter((t) => t.schema === schema).flatMap((table) => tableLines(table, say)),
    ]),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function pieceText({ text, isCode, anchor }: ReturnType<typeof piecesOf>[number]): string {
  const inner = isCode ? codeText(text) : plain(text);
  return anchor === null ? inner : `[${inner}](#${anchor})`;
}

/** Text in which nothing is Markdown or HTML, in one line, also in a cell of a table. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[\\`*{}[\]|~]|(?<!\w)_|_(?!\w)|^[#+\-=>]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** Inside a table a bar ends the cell even in code. */
function codeText(text: string): string {
  return `\`${text.replaceAll(/[`\p{Cc}]/gu, ' ').replaceAll('|', '\\|')}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Every table with what it is about, by schema. */
function indexLines(tables: readonly DocTable[], say: Say): string[] {
  return SCHEMAS.flatMap((schema) => {
    const listed = tables.filter((table) => table.schema === schema);
    const rows = listed.map((table) => row([`[${codeText(titleOf(table))}](#${nameOf(table)})`, say(table.about)]));
    return rows.length === 0 ? [] : [row([schema, 'about']), row(['---', '---']), ...rows, ''];
  });
}

function tableLines(table: DocTable, say: Say): string[] {
  const facts = factsOf(table);
  const columns = table.columns.map((column) => columnRow(nameOf(table), column, say));
  const head = [row(['column', 'type', 'meaning', '']), row(['---', '---', '---', '---'])];
  return [
    `### ${codeText(titleOf(table))}`,
    '',
    `<a id="${nameOf(table)}"></a>${say(table.about)}`,
    '',
    ...(facts.length === 0 ? [] : [facts.map(say).join(' '), '']),
    ...table.traps.flatMap((trap) => [`> Mind: ${say(trap)}`, '']),
    ...(columns.length === 0 ? [] : [...head, ...columns, '']),
  ];
}

function columnRow(table: string, column: DocColumn, say: Say): string {
  const { name, about, duckdbType, postgresType, source, traps } = column;
  const meaning = [
    say(about),
    ...(source === null ? [] : [`From: ${say(source)}`]),
    ...traps.map((t) => `Mind: ${say(t)}`),
  ];
  const types = `${codeText(duckdbType)}<br>${codeText(postgresType)}`;
  return row([
    `<a id="${table}.${name}"></a>${codeText(name)}`,
    types,
    meaning.join('<br>'),
    badgesOf(column).join(', '),
  ]);
}

function questionLines({ number, slug, question, reading, statements, answer }: DocQuestion, say: Say): string[] {
  return [
    `### ${number}. ${plain(question)}`,
    '',
    `<a id="question-${slug}"></a>`,
    '',
    ...reading.map((text) => `- ${say(text)}`),
    '',
    ...statements.flatMap(({ engine, sql }) => [
      ...(engine === 'SQL' ? [] : [`${engine}:`, '']),
      ...fenced('sql', sql),
      '',
    ]),
    ...(answer === null ? [] : answerLines(answer)),
  ];
}

/** The fence is longer than any row of backticks inside. */
function fenced(language: string, text: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, text, fence];
}

function answerLines({ columns, rows, truncated }: QueryResult): string[] {
  const cells = rows.map((values) => row(values.map((value) => (value === null ? '∅' : plain(String(value))))));
  const more = rows.length === 0 ? ['No rows.', ''] : truncated ? [`The first ${rows.length} rows.`, ''] : [];
  return ['Answer:', '', row(columns.map(plain)), row(columns.map(() => '---')), ...cells, '', ...more];
}

const CROWS: Readonly<Record<Cardinality, string>> = {
  'many to one': '}o--||',
  'many to at most one': '}o--o|',
  'one to at most one': '||--o|',
  'many to many': '}o--o{',
};

function groupLines({ title, about, relations }: RelationGroup, tables: readonly DocTable[], say: Say): string[] {
  const names = [...new Set(relations.flatMap(({ from, to }) => [from, to]))];
  const notes = relations.flatMap(({ from, to, note }) =>
    note === null ? [] : [`- ${say(`${from} → ${to}: ${note}`)}`],
  );
  return [
    `### ${plain(title)}`,
    '',
    say(about),
    '',
    ...fenced(
      'mermaid',
      ['erDiagram', ...names.flatMap((name) => entityLines(name, relations, tables)), ...relations.map(joinLine)].join(
        '\n',
      ),
    ),
    '',
    ...notes,
    ...(notes.length === 0 ? [] : ['']),
  ];
}

function entityLines(name: string, relations: readonly Relation[], tables: readonly DocTable[]): string[] {
  const used = new Set(
    relations.flatMap(({ from, columns, to, toColumns }) => [
      ...(from === name ? columns : []),
      ...(to === name ? toColumns : []),
    ]),
  );
  const columns = tables.find((table) => nameOf(table) === name)?.columns ?? [];
  const lines = columns
    .filter((c) => used.has(c.name))
    .map((c) => `    ${/^\w+/.exec(c.duckdbType)?.[0].toLowerCase()} ${c.name}${c.isKey ? ' PK' : ''}`);
  return [`  ${entityName(name)} {`, ...lines, '  }'];
}

function joinLine({ from, columns, to, toColumns, cardinality }: Relation): string {
  const pairs = columns.map((column, i) => `${column} = ${toColumns[i]}`).join(', ');
  return `  ${entityName(from)} ${CROWS[cardinality]} ${entityName(to)} : "${pairs}"`;
}

/** Mermaid takes no dot in a name. */
function entityName(name: string): string {
  return name.replace(/^warehouse\./, '').replace('.', '_');
}
