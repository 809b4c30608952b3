import { duckdbWarehouse } from '../duckdb/warehouse.ts';
import { orderMarts } from './orders.ts';

orderMarts(duckdbWarehouse);
