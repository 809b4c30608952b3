import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import { escaped, html } from '../../src/core/markup.ts';
import { gatherDocs } from '../../src/docs/docs.ts';
import { type Docs, nameOf } from '../../src/docs/model.ts';
import { pageOf } from '../../src/docs/page/page.ts';
import { HOSTILE, hostileDocs } from './hostile.ts';

let docs: Docs;
let page: string;
beforeAll(async () => {
  const tempDir = path.join(tmpdir(), 'partner-etl-docs-never-made');
  docs = await gatherDocs({ pipelines, clock: systemClock, tempDir, target: null });
  page = pageOf(docs);
});

/** The tags of a page, each with its attributes as they stand there; what is inside script and style is left out. */
function tagsOf(text: string): { readonly name: string; readonly attributes: string }[] {
  const bare = text.replaceAll(/(<(script|style)>)[\s\S]*?(<\/\2>)/g, '$1$3');
  return [...bare.matchAll(/<([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*\/?>/g)].map(
    ([, name, attributes]) => ({
      name: name!,
      attributes: attributes!,
    }),
  );
}

const attributesOf = (text: string, name: string) =>
  tagsOf(text).flatMap(({ attributes }) =>
    [...attributes.matchAll(/\s([a-zA-Z-]+)="([^"]*)"/g)].flatMap((m) => (m[1] === name ? [m[2]!] : [])),
  );

describe('the page', () => {
  test('has an anchor for every table and every column, each once', () => {
    const ids = attributesOf(page, 'id');
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = docs.tables.flatMap((t) => [nameOf(t), ...t.columns.map((c) => `${nameOf(t)}.${c.name}`)]);
    expect(wanted.filter((name) => !ids.includes(name))).toEqual([]);
  });

  test('links lead to anchors of the page, and to nothing else', () => {
    const ids = new Set(attributesOf(page, 'id'));
    const links = attributesOf(page, 'href');
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter((link) => !link.startsWith('#') || !ids.has(link.slice(1)))).toEqual([]);
  });

  test('loads nothing: no tag that fetches, no address of a host, and a policy that forbids it', () => {
    const names = new Set(tagsOf(page).map(({ name }) => name));
    const fetching = ['link', 'img', 'iframe', 'object', 'embed', 'video', 'audio', 'source', 'image', 'use', 'base'];
    expect(fetching.filter((name) => names.has(name))).toEqual([]);
    for (const name of ['src', 'srcset', 'action', 'data', 'background']) expect(attributesOf(page, name)).toEqual([]);
    expect(page).not.toMatch(/https?:|@import|url\(|\/\/[a-z]/i);
    expect(page).toContain(`content="default-src &#39;none&#39;;`);
  });

  test('runs its own script and style and no other: the policy names their hashes', () => {
    for (const [, tag, text] of page.matchAll(/<(script|style)>([\s\S]*?)<\/\1>/g)) {
      const hash = createHash('sha256').update(text!).digest('base64');
      expect(page).toContain(`${tag}-src &#39;sha256-${escaped(hash)}&#39;`);
    }
    expect(page).not.toMatch(/<[a-z]+ [^>]*\s(?:style|on[a-z]+)=/);
  });

  test('shows nothing but text, whatever the texts hold', () => {
    const hostile = pageOf(hostileDocs);
    expect(hostile).not.toContain('<img');
    expect(hostile.match(/<\/script>/g)).toHaveLength(1);
    expect(hostile).not.toContain('\u0000');
    expect(hostile).not.toContain('\u001b');
    const plain = escaped(HOSTILE);
    expect(hostile.split(plain).length).toBeGreaterThan(10);
    const outside = tagsOf(hostile).filter(({ name }) => !tagsOf(page).some((tag) => tag.name === name));
    expect(outside.map(({ name }) => name)).toEqual([]);
  });

  test('is the same, byte for byte, every time', () => {
    expect(pageOf(docs)).toBe(page);
  });

  test('shows an answer: NULL as ∅, numbers at the right, and that there is more', () => {
    const hostile = pageOf(hostileDocs);
    expect(hostile).toContain('<td>∅</td>');
    expect(hostile).toContain('<td class="number">12.50</td>');
    expect(hostile).toContain('The first 3 rows.');
  });
});

describe('markup', () => {
  test('escapes what is put in, and only that', () => {
    expect(html`<b title="${'"'}">${'<i>'}</b>${html`<br>`}${null}${[html`<p>`, html`</p>`]}${7}`.text).toBe(
      '<b title="&quot;">&lt;i&gt;</b><br><p></p>7',
    );
  });
});
