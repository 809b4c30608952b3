/** A diagram of how tables join, as inline SVG; colours come from the page's style. */

import { html, type Markup } from '../core/markup.ts';
import { type Layout, type Line, layOut, ROW_HEIGHT, TITLE_HEIGHT } from './layout.ts';
import type { RelationGroup } from './relations.ts';

export function diagram({ title, relations }: RelationGroup): Markup {
  const layout = layOut(relations);
  const { width, height } = layout;
  return html`<svg class="diagram" role="img" aria-label="How tables join: ${title}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
${layout.lines.map(line)}${layout.boxes.map(box)}</svg>
`;
}

function line({ from, to, fromCount, toCount, relation }: Line): Markup {
  const bend = Math.max(40, (to.x - from.x) / 2);
  const path = `M${from.x} ${from.y} C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
  const pairs = relation.columns.map((column, i) => `${column} = ${relation.toColumns[i]}`).join(', ');
  const note = relation.note === null ? '' : `; ${relation.note}`;
  return html`<g class="join"><title>${relation.from} → ${relation.to}: ${pairs} (${relation.cardinality}${note})</title>
<path d="${path}"/><text x="${from.x + 5}" y="${from.y - 4}">${fromCount}</text><text x="${to.x - 5}" y="${to.y - 4}" text-anchor="end">${toCount}</text></g>
`;
}

function box({ name, x, y, width, height, rows }: Layout['boxes'][number]): Markup {
  const texts = rows.map((row) => html`<text x="${x + 10}" y="${row.y + ROW_HEIGHT / 2 - 5}">${row.column}</text>`);
  return html`<g class="box"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="4"/>
<a href="#${name}"><text class="title" x="${x + 10}" y="${y + TITLE_HEIGHT - 8}">${name}</text></a>
<path d="M${x} ${y + TITLE_HEIGHT} h${width}"/>${texts}</g>
`;
}
