/** Where everything lies under the home directory. Only names are made here; nothing is read or written. */
import path from 'node:path';

export interface HomePaths {
  readonly root: string;
  readonly raw: string;
  /** The tables, and nothing else. What is set aside of them lies in the two after it; which files are current stands in the state. */
  readonly lake: string;
  readonly rejects: string;
  readonly held: string;
  readonly locks: string;
  /** The database of everything that is remembered between runs. */
  readonly database: string;
  /** Copies of it, the newest of each day. */
  readonly backups: string;
  /** Scratch space of runs; whatever lies there may be deleted when no run is at work. */
  readonly work: string;
  readonly inbox: string;
  /** The tables of the lake as Delta tables. */
  readonly delta: string;
  /** The DuckDB warehouse. */
  readonly warehouse: string;
}

export function homePaths(root: string): HomePaths {
  const at = (name: string) => path.join(path.resolve(root), name);
  return {
    root: path.resolve(root),
    raw: at('raw'),
    lake: at('lake'),
    rejects: at('rejects'),
    held: at('held'),
    locks: at('locks'),
    database: at('state.db'),
    backups: at('backups'),
    work: at('work'),
    inbox: at('inbox'),
    delta: at('delta'),
    warehouse: at('warehouse.duckdb'),
  };
}
