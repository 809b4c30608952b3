/**
 * docs/tables.md is the dictionary of this program, without the questions, which lie in sql/questions; `npm run docs` writes it again.
 * And what README and docs/ say of tables is true: they name none that is not there.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import { gatherDocs } from '../../src/docs/docs.ts';
import { markdownOf } from '../../src/docs/markdown.ts';
import { type Docs, nameOf, SCHEMAS } from '../../src/docs/model.ts';
import { markdownFiles } from '../tidy/markdown.ts';
import { REPOSITORY } from '../tidy/sources.ts';

const NOTE = '<!-- Written by `npm run docs` from migrations, pipelines/ and sql/dictionary: do not edit. -->\n\n';

let docs: Docs;
beforeAll(async () => {
  const tempDir = path.join(tmpdir(), 'partner-etl-docs-never-made');
  docs = await gatherDocs({ pipelines, clock: systemClock, tempDir, target: null });
});

const namesIn = (text: string) =>
  [...text.matchAll(/(?<![-\w/])(?:warehouse|mart|etl)\.[a-z][a-z0-9_]*/g)].map(([name]) => name);

test('docs/tables.md is current; if not: npm run docs', async () => {
  const text = NOTE + markdownOf({ ...docs, questions: [] });
  await expect(text).toMatchFileSnapshot(path.join(REPOSITORY, 'docs/tables.md'));
});

test('README and docs/ name no table that is not there', () => {
  // A column, a file, or a folder of ours that is called as a schema is.
  const others = ['warehouse.duckdb', 'warehouse.next'];
  const known = new Set([...docs.tables.map(nameOf), ...others]);
  const wrong = markdownFiles()
    .filter(({ file }) => file !== 'docs/tables.md')
    .flatMap(({ file, text }) => namesIn(text).map((name) => ({ file, name })))
    .filter(({ name }) => !known.has(name));
  expect(wrong).toEqual([]);
});

test('the README lists tables by schema, and each is there', () => {
  const readme = readFileSync(path.join(REPOSITORY, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| `([a-z]+)`[^|]* \| (.+) \|$/gm)].filter(([, schema]) =>
    SCHEMAS.includes(schema!),
  );
  const listed = rows.flatMap(([, schema, cell]) =>
    [...cell!.matchAll(/`([a-z_]+)/g)].map(([, name]) => `${schema}.${name}`),
  );
  expect(listed.length).toBeGreaterThan(40);
  const known = new Set(docs.tables.map(nameOf));
  expect(listed.filter((name) => !known.has(name))).toEqual([]);
  const marts = docs.tables.filter(({ schema }) => schema === 'mart').map(nameOf);
  expect(marts.filter((name) => !listed.includes(name))).toEqual([]);
});
