/** A DuckLake as a target. */
import type { DucklakePlace } from '../../core/ducklake.ts';
import { engineSize, warehouseSize } from '../../engine/size.ts';
import { openTargetIn, type WarehouseOptions } from '../duckdb/target.ts';
import type { Target } from '../target.ts';
import { DucklakeStore } from './store.ts';

export interface DucklakeTargetOptions extends WarehouseOptions {
  readonly at: DucklakePlace;
}

/** Nothing is opened or made before it is used. */
export function openDucklakeTarget(options: DucklakeTargetOptions): Target {
  const { at, workDir, engine = engineSize(), clock } = options;
  return openTargetIn(new DucklakeStore(at, workDir, warehouseSize(engine), clock), options);
}
