/** README and docs/: short enough, whole, and every link leads somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { markdownFiles } from './markdown.ts';
import { REPOSITORY, sourcesIn } from './sources.ts';

const files = markdownFiles();
const readme = files.find(({ file }) => file === 'README.md')!.text;

interface Link {
  readonly from: string;
  readonly line: number;
  /** Relative to the repository. */
  readonly target: string;
  readonly anchor: string | null;
}

/** Links and pictures of a Markdown text that lead into the repository; those in code do not count. */
function linksIn(file: string, text: string): Link[] {
  const found: Link[] = [];
  let isCode = false;
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (isCode) continue;
    const prose = line.replaceAll(/\[`[^`]*`\]/g, '[code]').replaceAll(/`[^`]*`/g, '');
    for (const [, link] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link!)) continue;
      const [name = '', anchor = null] = link!.split('#');
      const target = name === '' ? file : path.posix.join(path.posix.dirname(file), name);
      found.push({ from: file, line: i + 1, target, anchor });
    }
  }
  return found;
}

/** What can be linked to within a file: its headings, as GitHub names them, and anchors of its own. */
function anchorsIn(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!)]);
}

const links = files.flatMap(({ file, text }) => linksIn(file, text));

describe('README', () => {
  test('has at most 200 lines', () => {
    expect(readme.split('\n').length - 1).toBeLessThanOrEqual(200);
  });

  test('leads to every file under docs/', () => {
    const pages = readdirSync(path.join(REPOSITORY, 'docs')).filter((name) => name.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(10);
    const targets = links.filter(({ from }) => from === 'README.md').map(({ target }) => target);
    expect(pages.filter((name) => !targets.includes(`docs/${name}`))).toEqual([]);
  });

  test('names for every guarantee a test that holds it', () => {
    const rows = [...readme.matchAll(/^\| \*\*.+$/gm)].map(([row]) => row);
    expect(rows.length).toBeGreaterThan(8);
    for (const row of rows) expect(row).toMatch(/\]\(test\/[^)]+\.ts\)/);
  });
});

test('every variable of the environment that the program reads is explained', () => {
  const names = sourcesIn(['src']).flatMap(({ text }) =>
    [...text.matchAll(/'((?:PARTNER|OTEL)_[A-Z_]+)'/g)].map(([, name]) => name!.replace(/(?<!SECRET|TOKEN)_FILE$/, '')),
  );
  const all = files.map(({ text }) => text).join('\n');
  expect(new Set(names).size).toBeGreaterThan(15);
  expect([...new Set(names)].filter((name) => !all.includes(name))).toEqual([]);
});

describe('links', () => {
  test('between files lead to files that are there', () => {
    expect(links.length).toBeGreaterThan(60);
    expect(links.filter(({ target }) => !existsSync(path.join(REPOSITORY, target)))).toEqual([]);
  });

  test('to a place within a file lead to one that is there', () => {
    const placed = links.filter(({ anchor }) => anchor !== null);
    expect(placed.length).toBeGreaterThan(100);
    const anchors = new Map<string, Set<string>>();
    const wrong = placed.filter(({ target, anchor }) => {
      if (!anchors.has(target)) anchors.set(target, anchorsIn(readFileSync(path.join(REPOSITORY, target), 'utf8')));
      return !anchors.get(target)!.has(anchor!);
    });
    expect(wrong).toEqual([]);
  });
});

test('docs/architecture.md names no file of ours that is not there', () => {
  const { text } = files.find(({ file }) => file === 'docs/architecture.md')!;
  const missing: string[] = [];
  for (const line of text.split('\n')) {
    let folder = '';
    for (const [, name] of line.matchAll(/`([\w./-]+)`/g)) {
      if (!/^(?:src|test|sql|config|pipelines|bin)\//.test(name!) && !/\.(?:ts|js)$/.test(name!)) continue;
      const isPath = name!.includes('/');
      // A name alone stands for a file beside the one before it.
      const file = isPath ? name! : path.posix.join(folder, name!);
      if (isPath) folder = path.posix.dirname(name!);
      if (!existsSync(path.join(REPOSITORY, file))) missing.push(file);
    }
  }
  expect(missing).toEqual([]);
});
