/**
 * `<table>_version` of every table that keeps its history: what its rows are and what they were, in one view. Made from the declaration, and
 * so is what the dictionary says of it.
 */
import {
  ACCOUNT_COLUMN,
  ENDED_BY,
  historyOf,
  LOADED_COLUMN,
  type Pipeline,
  storedColumns,
  VALID_FROM,
  VALID_TO,
} from '../../core/pipeline.ts';
import { quoteName } from '../../engine/duckdb.ts';
import type { DictionaryEntry } from '../dictionary/entry.ts';
import { factTable } from '../table-sql.ts';

export interface VersionView {
  /** Of the view, without its schema. */
  readonly name: string;
  readonly sql: string;
  readonly entry: DictionaryEntry;
}

export function versionViews(pipelines: readonly Pipeline[]): VersionView[] {
  return pipelines.flatMap((pipeline) => {
    const history = historyOf(pipelines, pipeline);
    return history ? [versionView(pipeline, history)] : [];
  });
}

function versionView(pipeline: Pipeline, history: Pipeline): VersionView {
  const name = `${pipeline.table}_version`;
  const stored = storedColumns(pipeline).filter(({ column }) => column !== VALID_FROM);
  const columns = [
    { name: ACCOUNT_COLUMN, about: 'the partner account that the row belongs to' },
    ...stored.map(({ column, about }) => ({ name: column, about })),
    { name: LOADED_COLUMN, about: 'when the row was loaded into this warehouse' },
    { name: VALID_FROM, about: 'when the row was first seen so' },
  ];
  const shared = columns.map((column) => quoteName(column.name)).join(', ');
  const sql = `-- What the rows of ${pipeline.table} are, and what they were.
CREATE OR REPLACE VIEW warehouse.${name} AS
SELECT ${shared}, CAST(NULL AS timestamp with time zone) AS ${VALID_TO}, CAST(NULL AS text) AS ${ENDED_BY}
FROM ${factTable(pipeline)}
UNION ALL
SELECT ${shared}, ${VALID_TO}, ${ENDED_BY}
FROM ${factTable(history)};
`;
  const key = (pipeline.key ?? []).join(', ');
  return {
    name,
    sql,
    entry: {
      schema: 'warehouse',
      name,
      about: `What the rows of ${pipeline.table} are, and what they were.`,
      grain: `each combination of ${key} as it was for a time; what holds now has no ${VALID_TO}`,
      traps: [
        `without a condition on ${VALID_TO} or on an instant, what changed is counted several times`,
        'between two rows there is a gap while the service did not give it; what is gone has no row that holds now',
      ],
      arguments: null,
      returns: null,
      rowsOf: null,
      columns: [
        ...columns,
        { name: VALID_TO, about: 'when it was first seen otherwise; null while it holds' },
        { name: ENDED_BY, about: 'changed; moved, to another day; gone; null while it holds' },
      ],
    },
  };
}
