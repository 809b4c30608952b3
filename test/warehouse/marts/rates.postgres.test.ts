import { postgresWarehouse } from '../postgres/warehouse.ts';
import { rateMarts } from './rates.ts';

rateMarts(postgresWarehouse);
