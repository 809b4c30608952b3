import { duckdbWarehouse } from '../duckdb/warehouse.ts';
import { reconciliation } from './reconciliation.ts';

reconciliation(duckdbWarehouse);
