import { duckdbWarehouse } from '../duckdb/warehouse.ts';
import { accountsApart } from './accounts.ts';

accountsApart(duckdbWarehouse);
