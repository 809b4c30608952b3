import { reconciliation } from '../../warehouse/marts/reconciliation.ts';
import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';

reconciliation(postgresWarehouse);
