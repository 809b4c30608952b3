import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import { gatherDocs } from '../../src/docs/docs.ts';
import { markdownOf } from '../../src/docs/markdown.ts';
import { type Docs, nameOf } from '../../src/docs/model.ts';
import { hostileDocs } from './hostile.ts';

let docs: Docs;
let text: string;
beforeAll(async () => {
  const tempDir = path.join(tmpdir(), 'partner-etl-docs-never-made');
  docs = await gatherDocs({ pipelines, clock: systemClock, tempDir, target: null });
  text = markdownOf(docs);
});

describe('the Markdown', () => {
  test('has an anchor for every table and every column, and links lead to these', () => {
    const ids = [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = docs.tables.flatMap((t) => [nameOf(t), ...t.columns.map((c) => `${nameOf(t)}.${c.name}`)]);
    expect(wanted.filter((name) => !ids.includes(name))).toEqual([]);
    const links = [...text.matchAll(/\]\((#?[^)]+)\)/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((link) => !ids.includes(link.slice(1)))).toEqual([]);
  });

  test('draws every group of relations as an erDiagram whose entities are declared', () => {
    const drawn = [...text.matchAll(/```mermaid\n(erDiagram\n[\s\S]*?)\n```/g)].map(([, diagram]) => diagram!);
    expect(drawn).toHaveLength(docs.groups.length);
    for (const [i, diagram] of drawn.entries()) {
      const lines = diagram.split('\n').slice(1);
      const entities = lines.flatMap((line) => /^ {2}(\w+) \{$/.exec(line)?.[1] ?? []);
      const joins = lines.flatMap((line) => {
        const match = /^ {2}(\w+) (?:\}o--\|\||\}o--o\||\|\|--o\||\}o--o\{) (\w+) : "[^"]+"$/.exec(line);
        return match ? [match.slice(1, 3)] : [];
      });
      expect(joins).toHaveLength(docs.groups[i]!.relations.length);
      expect(joins.flat().filter((name) => !entities.includes(name))).toEqual([]);
    }
  });

  test('rows of a table have as many cells as its head', () => {
    const cells = (line: string) => line.replaceAll(/\\\|/g, '').split('|').length;
    const blocks = text
      .trimEnd()
      .split('\n\n')
      .filter((block) => block.startsWith('| '));
    expect(blocks.length).toBeGreaterThan(30);
    for (const block of blocks) expect(new Set(block.split('\n').map(cells)).size).toBe(1);
  });

  test('texts make no HTML, no cells, no lines of their own, and no links; a fence holds its SQL', () => {
    const hostile = markdownOf({ ...hostileDocs, groups: [] });
    const [before, sql, behind] = hostile.split(/^`{5}(?:sql)?$/m);
    expect(sql).toContain('````');
    // What stands in code is shown as it is.
    const prose = (before! + behind!).replaceAll(/(?<!\\)`[^`\n]+`/g, 'code');
    expect(prose).not.toMatch(/<(?!a id="|\/a>|br>)/);
    expect(prose).not.toMatch(/(?<!\\)\]\(javascript/);
    expect(prose).not.toMatch(/[\u0000\u001b]/);
    expect(prose).not.toMatch(/^new line/m);
  });

  test('is the same, byte for byte, every time', () => {
    expect(markdownOf(docs)).toBe(text);
  });
});
