import { duckdbWarehouse } from '../../warehouse/duckdb/warehouse.ts';
import { subIds } from '../../warehouse/marts/sub-ids.ts';

subIds(duckdbWarehouse);
