import { duckdbWarehouse } from '../duckdb/warehouse.ts';
import { rateMarts } from './rates.ts';

rateMarts(duckdbWarehouse);
