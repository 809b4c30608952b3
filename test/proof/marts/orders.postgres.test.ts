import { orderMarts } from '../../warehouse/marts/orders.ts';
import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';

orderMarts(postgresWarehouse);
