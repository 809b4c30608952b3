import { duckdbWarehouse } from './duckdb/warehouse.ts';
import { sentinels } from './sentinels.ts';

sentinels(duckdbWarehouse);
