/** What a warehouse's catalogue holds, as both engines are asked for it: one question for columns and comments. */
import type { FoundTables, TableColumn } from './tables.ts';

/** A thing of the catalogue (`column` null), or a column of it. */
export interface FoundThing {
  /** As `COMMENT ON` calls the thing. */
  readonly kind: 'TABLE' | 'VIEW' | 'MATERIALIZED VIEW' | 'FUNCTION' | 'MACRO' | 'MACRO TABLE';
  readonly schema: string;
  readonly name: string;
  readonly column: string | null;
  /** Of a column, as the engine writes it. */
  readonly type: string | null;
  readonly isRequired: boolean | null;
  readonly comment: string | null;
}

/** The tables of facts and dimensions among them. */
export function tablesAmong(found: readonly FoundThing[]): FoundTables {
  const tables = new Map<string, TableColumn[]>();
  for (const { kind, schema, name, column, type, isRequired } of found) {
    if (kind !== 'TABLE' || schema !== 'warehouse') continue;
    const columns = tables.get(name) ?? [];
    tables.set(name, columns);
    if (column !== null) columns.push({ name: column, type: String(type), isRequired: isRequired === true });
  }
  return tables;
}
