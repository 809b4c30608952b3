/** The declaration of the table that holds what rows were. */
import type { ColumnKind } from './columns.ts';
import { assert } from './errors.ts';
import {
  column,
  declarePipeline,
  ENDED_ON,
  historyName,
  type Pipeline,
  parentName,
  VALID_FROM,
  VALID_FROM_FIELD_ID,
} from './pipeline.ts';
import { childOf } from './source.ts';

/**
 * The table of what the rows of a pipeline were: its columns, since when and until when, and why that ended. A slice is the day on which
 * rows ended, so a night adds one, and no row of it is ever changed.
 */
export function declareHistory(pipeline: Pipeline): Pipeline {
  const { name, version, answer, table, columns, derived, key, day, keepsHistory } = pipeline;
  assert(key && keepsHistory, `${name} keeps no history`);
  const made = (id: number, field: string, kind: ColumnKind, about: string, from: string) =>
    column(id, field, kind, about, { required: true, from: `made by partner-etl: ${from}` });
  const needed = [...key, day, VALID_FROM];
  const [seen, complete] = ['when the row was first seen so', 'when that answer was complete'];
  const since = made(VALID_FROM_FIELD_ID, 'validFrom', 'utc-time', seen, complete);
  return declarePipeline({
    name: historyName(pipeline),
    version,
    about: `What the rows of ${table} were before they changed, moved to another day or went. Rows are only added.`,
    answer,
    source: childOf(parentName(pipeline)),
    table: `${table}_history`,
    columns: [
      ...columns.map((one) => ({ ...one, required: one.required && needed.includes(one.column) })),
      ...(columns.some((one) => one.column === VALID_FROM) ? [] : [since]),
      made(1004, 'validTo', 'utc-time', 'when it was first seen otherwise', complete),
      made(1005, 'endedBy', 'text', 'changed; moved, to another day; or gone', 'what the later answer says of the key'),
      made(1006, 'endedOn', 'day', 'day of valid_to', 'the day of valid_to in the time zone of the service'),
    ],
    derived,
    key: [...key, VALID_FROM],
    write: 'append',
    isHistory: true,
    day: ENDED_ON,
  });
}

/** Each pipeline, and behind it what its rows were where that is kept. */
export function withHistories(pipelines: readonly Pipeline[]): Pipeline[] {
  return pipelines.flatMap((one) => (one.keepsHistory ? [one, declareHistory(one)] : [one]));
}
