/** A DuckLake as a target. */
import { engineSize, warehouseSize } from '../../engine/size.ts';
import { openTargetIn, type WarehouseOptions } from '../duckdb/target.ts';
import type { Target } from '../target.ts';
import { type DucklakePlace, DucklakeStore } from './store.ts';

export interface DucklakeTargetOptions extends WarehouseOptions {
  readonly at: DucklakePlace;
}

/** Nothing is opened or made before it is used. */
export function openDucklakeTarget(options: DucklakeTargetOptions): Target {
  const { at, workDir, engine = engineSize(), clock } = options;
  return openTargetIn(new DucklakeStore(at, workDir, warehouseSize(engine), clock), options);
}
