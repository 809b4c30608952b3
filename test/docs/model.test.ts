import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { systemClock } from '../../src/core/clock.ts';
import { columnSources } from '../../src/docs/column-sources.ts';
import { gatherDocs } from '../../src/docs/docs.ts';
import { type Docs, nameOf, postgresTypeOf } from '../../src/docs/model.ts';
import { anchorsOf, piecesOf } from '../../src/docs/prose.ts';

let docs: Docs;
beforeAll(async () => {
  const tempDir = path.join(tmpdir(), 'partner-etl-docs-never-made');
  docs = await gatherDocs({ pipelines, clock: systemClock, tempDir, target: null });
});

describe('the dictionary as data', () => {
  test('every table and every column has a meaning', () => {
    expect(docs.tables.length).toBeGreaterThan(30);
    const mute = docs.tables.flatMap((t) =>
      [{ name: '', about: t.about }, ...t.columns]
        .filter(({ about }) => about === '')
        .map((c) => `${nameOf(t)} ${c.name}`),
    );
    expect(mute).toEqual([]);
  });

  test('every mart says its question and what a row is', () => {
    const marts = docs.tables.filter((t) => t.schema === 'mart');
    expect(marts.length).toBeGreaterThan(5);
    expect(marts.filter(({ about, grain }) => !about.includes('?') || grain === null).map(nameOf)).toEqual([]);
  });

  test('every column of a fact says where its value comes from', () => {
    const facts = docs.tables.filter(({ pipeline }) => pipeline !== null);
    expect(facts).toHaveLength(pipelines.length);
    expect(facts.flatMap((t) => t.columns.filter(({ source }) => source === null))).toEqual([]);
  });

  test.each<[string, string, string]>([
    ['promotions', 'promotion_date', 'field `date`, promotions report'],
    ['orders', 'price_excl_vat', 'field `priceExclVat`, orders report'],
    ['products', 'image_url', '`image.url`'],
    ['orders', 'extra', 'members of the answer that the contract does not know'],
    ['commission-rates', 'valid_from', 'made by partner-etl: when that answer was complete'],
  ])('%s: %s comes from: %s', (name, column, source) => {
    expect(columnSources(pipelines.find((p) => p.name === name)!).get(column)).toBe(source);
  });

  test('keys, slice days and what may be null are those of the pipelines', () => {
    for (const pipeline of pipelines) {
      const { columns } = docs.tables.find((t) => t.pipeline === pipeline.name)!;
      const names = (isIt: (c: (typeof columns)[number]) => boolean) => columns.filter(isIt).map(({ name }) => name);
      expect(names(({ isDay }) => isDay)).toEqual([pipeline.day]);
      expect(new Set(names(({ isKey }) => isKey))).toEqual(new Set(pipeline.key ?? []));
      const required = pipeline.columns.filter((c) => c.required).map(({ column }) => column);
      const made = [
        'fetch_id',
        ...(pipeline.keepsHistory && !required.includes('valid_from') ? ['valid_from'] : []),
        'loaded_at',
      ];
      expect(names(({ mayBeNull }) => mayBeNull === false)).toEqual(['account', ...required, ...made]);
    }
  });

  test('relations and traps name tables and columns that are there, in the same number on both sides', () => {
    const anchors = anchorsOf(docs.tables);
    const relations = docs.groups.flatMap((group) => group.relations);
    const named = relations.flatMap(({ from, columns, to, toColumns }) => [
      ...[from, to],
      ...columns.map((column) => `${from}.${column}`),
      ...toColumns.map((column) => `${to}.${column}`),
    ]);
    expect(relations.length).toBeGreaterThan(10);
    expect([...named, ...docs.traps.flatMap(({ on }) => on)].filter((name) => !anchors.has(name))).toEqual([]);
    expect(relations.filter(({ columns, toColumns }) => columns.length !== toColumns.length)).toEqual([]);
  });

  test('every fact and every dimension joins something', () => {
    const joined = new Set(docs.groups.flatMap((g) => g.relations.flatMap(({ from, to }) => [from, to])));
    const alone = docs.tables.filter((t) => /^warehouse\.(?:fact|dim)_/.test(nameOf(t)) && !joined.has(nameOf(t)));
    expect(alone.map(nameOf)).toEqual([]);
  });
});

describe('types', () => {
  test.each([
    ['DECIMAL(38,6)', 'numeric(38,6)'],
    ['DOUBLE', 'double precision'],
    ['TIMESTAMP WITH TIME ZONE', 'timestamp with time zone'],
    ['VARCHAR', 'text'],
    ['JSON', 'jsonb'],
    ['INTEGER', 'integer'],
    ['BOOLEAN', 'boolean'],
  ])('%s of DuckDB is %s in Postgres', (duckdb, postgres) => {
    expect(postgresTypeOf(duckdb)).toBe(postgres);
  });
});

describe('sentences', () => {
  const anchors = new Set(['etl.fetch', 'etl.fetch.status']);
  test.each<[string, string[]]>([
    ['plain', ['plain']],
    ['see etl.fetch.', ['see ', '[etl.fetch]', '.']],
    ['see etl.fetch.status and etl.none', ['see ', '[etl.fetch.status]', ' and ', 'etl.none']],
    ['a `b` c', ['a ', '`b`', ' c']],
    ['`etl.fetch`', ['[etl.fetch]']],
    ['an odd ` alone', ['an odd ` alone']],
  ])('%s', (text, pieces) => {
    const shown = piecesOf(text, anchors).map((p) => (p.anchor ? `[${p.text}]` : p.isCode ? `\`${p.text}\`` : p.text));
    expect(shown).toEqual(pieces);
  });
});
