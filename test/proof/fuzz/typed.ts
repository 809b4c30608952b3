/** Cells of every kind on their way through splitter and typing, many at a time: what each becomes. */

import type { Day } from '../../../src/core/days.ts';
import { column, declarePipeline } from '../../../src/core/pipeline.ts';
import { window } from '../../../src/core/source.ts';
import { normaliseText } from '../../support/normalise.ts';
import { plainJson } from './plain-json.ts';

const pipeline = declarePipeline({
  name: 'kinds',
  version: 1,
  answer: 'orders report',
  about: 'A column of every kind.',
  source: window({ path: '/kinds', budget: { calls: 1, perSeconds: 1, concurrency: 1 } }),
  table: 'kinds',
  columns: [
    column(1, 'onDay', 'day', 'the slice', { required: true }),
    column(2, 'number', 'text', 'of the cell', { required: true }),
    column(3, 'money', 'money', ''),
    column(4, 'percentage', 'percentage', ''),
    column(5, 'ratio', 'ratio', ''),
    column(6, 'count', 'count', ''),
    column(7, 'boolean', 'boolean', ''),
    column(8, 'text', 'text', ''),
    column(9, 'day', 'day', ''),
    column(10, 'time', 'text', ''),
  ],
  derived: [
    { id: 11, column: 'local_time', kind: 'local-time', rule: 'local-time', from: 'time', about: '' },
    { id: 12, column: 'utc_time', kind: 'utc-time', rule: 'utc-time', from: 'time', about: '' },
  ],
  key: ['number'],
  write: 'replace',
  day: 'on_day',
  sort: ['number'],
  settledWhen: 'true',
});

/** Both changes of the clock lie in it, and times beyond it go another way. */
const RANGE = { from: '2025-10-20' as Day, to: '2026-04-05' as Day };

export interface Cell {
  readonly field: string;
  /** JSON. */
  readonly json: string;
}

export interface Typed {
  /** The row that the cell stands in; null where it was set aside. */
  readonly row: Readonly<Record<string, string | null>> | null;
  readonly reason: string | null;
}

export interface TypedCells {
  readonly cells: readonly Typed[];
  /** By `kind:field`. */
  readonly drift: ReadonlyMap<string, number>;
}

/** Cells as lines of text, `<field> <JSON>`; what is no JSON stands for the text that it is. */
export function cellsIn(text: string): Cell[] {
  return text.split('\n').flatMap((line) => {
    const [, field = '', token = ''] = /^([a-z]+) (.*)$/su.exec(line) ?? [];
    const isField = pipeline.columns.some((c) => c.field === field && !c.required);
    return isField ? [{ field, json: plainJson(token) === undefined ? JSON.stringify(token) : token }] : [];
  });
}

export async function typedCells(cells: readonly Cell[]): Promise<TypedCells> {
  const items = cells.map(({ field, json }, i) => `{"onDay":"2026-03-01","number":"${i}","${field}":${json}}`);
  const { loaded, rejected, drift } = await normaliseText(pipeline, `{"items":[${items.join(',')}]}`, RANGE);
  const rows = new Map(loaded.map((row) => [row.number, row]));
  const reasons = new Map(rejected.map(({ item, reason }) => [item, reason]));
  const counts = new Map<string, number>();
  for (const { kind, field, count } of drift) counts.set(`${kind}:${field}`, Number(count));
  const typed = cells.map((_, i) => ({ row: rows.get(String(i)) ?? null, reason: reasons.get(i) ?? null }));
  return { cells: typed, drift: counts };
}
