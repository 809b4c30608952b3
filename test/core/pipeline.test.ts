import { describe, expect, it } from 'vitest';
import { pipelines } from '../../pipelines/index.ts';
import { snakeCase } from '../../src/core/columns.ts';
import {
  childrenOf,
  column,
  type Declaration,
  type DerivedColumn,
  declarePipeline,
  isNamed,
  type Pipeline,
  storedColumns,
} from '../../src/core/pipeline.ts';
import { window } from '../../src/core/source.ts';

const sound: Pipeline = {
  name: 'visits',
  version: 1,
  answer: 'orders report',
  about: 'Visits by day.',
  source: window({ path: '/visits', budget: { calls: 1, perSeconds: 1, concurrency: 1 } }),
  write: 'replace',
  merge: null,
  keepsHistory: false,
  table: 'fact_visit',
  columns: [
    column(1, 'visitDate', 'day', 'the day', { required: true }),
    column(2, 'visitId', 'text', 'the visit', { required: true }),
    column(3, 'visits', 'count', 'how many'),
  ],
  derived: [],
  key: ['visit_id'],
  day: 'visit_date',
  sort: ['visit_id'],
  settledWhen: 'true',
};

const derived = (fields: Partial<DerivedColumn>): DerivedColumn => ({
  id: 4,
  column: 'visit_group',
  kind: 'text',
  rule: 'status-group',
  from: 'visit_id',
  about: 'its group',
  ...fields,
});

describe('a declaration', () => {
  it('that holds together is returned as it is', () => {
    expect(declarePipeline(sound)).toEqual(sound);
    expect(declarePipeline({ ...sound, key: null }).key).toBeNull();
    expect(declarePipeline({ ...sound, derived: [derived({})], sort: ['visit_group'] }).derived).toHaveLength(1);
  });

  it.each<[string, Partial<Declaration>, string]>([
    ['two columns of one name', { columns: [...sound.columns, column(9, 'visits', 'text', '')] }, 'one name'],
    ['two columns of one field id', { columns: [...sound.columns, column(3, 'more', 'text', '')] }, 'one field id'],
    [
      'a column called as every table has one',
      { columns: [...sound.columns, column(9, 'extra', 'text', '')] },
      'one name',
    ],
    [
      'a field id that every table has',
      { columns: [...sound.columns, column(1001, 'more', 'text', '')] },
      'one field id',
    ],
    ['a derived column that has a name already', { derived: [derived({ column: 'visits' })] }, 'one name'],
    ['a derived column of a column that is not there', { derived: [derived({ from: 'status' })] }, 'status'],
    ['a day that is no column', { day: 'order_date' }, 'order_date'],
    ['a key that is no column', { key: ['visit_id', 'item_id'] }, 'item_id'],
    ['an order by what is no column', { sort: ['place'] }, 'place'],
    ['a day that may be missing', { day: 'visits', key: null }, 'visits must be required'],
    ['a key that may be missing', { key: ['visits'] }, 'visits must be required'],
    ['merged rows that begin at no time', { write: 'merge' }, 'valid_from must be required'],
    ['merged rows without a key', { write: 'merge', key: null }, 'without a key'],
    ['a way to merge rows that are replaced', { merge: { ignore: ['visits'] } }, 'not merged'],
  ])('with %s is refused', (_, fields, part) => {
    expect(() => declarePipeline({ ...sound, ...fields })).toThrow(
      expect.objectContaining({ kind: 'bug', message: expect.stringContaining(part) }),
    );
  });
});

describe('columns', () => {
  it.each([
    ['orderItemId', 'order_item_id'],
    ['priceExclVat', 'price_excl_vat'],
    ['status', 'status'],
  ])('%s is called %s', (field, name) => {
    expect(snakeCase(field)).toBe(name);
    expect(column(1, field, 'text', '').column).toBe(name);
  });

  it('the lake has what was sent, what was derived, extra and fetch_id, in that order', () => {
    expect(storedColumns({ ...sound, derived: [derived({})] }).map((c) => c.column)).toEqual([
      ...['visit_date', 'visit_id', 'visits', 'visit_group', 'extra', 'fetch_id'],
    ]);
  });
});

describe('the declared pipelines', () => {
  it('have names, sources and tables of their own', () => {
    for (const of of ['name', 'table'] as const)
      expect(new Set(pipelines.map((p) => p[of])).size).toBe(pipelines.length);
    const own = pipelines.filter(({ isHistory }) => !isHistory);
    expect(new Set(own.map((p) => JSON.stringify(p.source))).size).toBe(own.length);
  });

  it('a child stands behind its parent', () => {
    const places = new Map(pipelines.map((p, i) => [p.name, i]));
    for (const part of pipelines.filter((p) => !isNamed(p))) {
      const whole = pipelines.find((p) => childrenOf(pipelines, p).includes(part));
      expect(places.get(whole?.name ?? '')).toBeLessThan(places.get(part.name)!);
    }
  });

  it.each(pipelines.map((p) => [p.name, p] as const))('%s explains every column', (_, pipeline) => {
    expect(storedColumns(pipeline).filter((c) => c.about === '')).toEqual([]);
    expect(pipeline.table).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  });
});
