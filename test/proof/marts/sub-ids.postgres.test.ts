import { subIds } from '../../warehouse/marts/sub-ids.ts';
import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';

subIds(postgresWarehouse);
