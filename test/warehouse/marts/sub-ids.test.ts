import { duckdbWarehouse } from '../duckdb/warehouse.ts';
import { subIds } from './sub-ids.ts';

subIds(duckdbWarehouse);
