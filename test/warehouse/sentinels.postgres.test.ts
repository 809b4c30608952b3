import { postgresWarehouse } from './postgres/warehouse.ts';
import { sentinels } from './sentinels.ts';

sentinels(postgresWarehouse);
