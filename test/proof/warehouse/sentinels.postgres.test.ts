import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';
import { sentinels } from '../../warehouse/sentinels.ts';

sentinels(postgresWarehouse);
