import { duckdbWarehouse } from '../../warehouse/duckdb/warehouse.ts';
import { reconciliation } from '../../warehouse/marts/reconciliation.ts';

reconciliation(duckdbWarehouse);
