import { postgresWarehouse } from '../postgres/warehouse.ts';
import { orderMarts } from './orders.ts';

orderMarts(postgresWarehouse);
