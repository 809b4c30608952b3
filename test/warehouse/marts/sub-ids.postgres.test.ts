import { postgresWarehouse } from '../postgres/warehouse.ts';
import { subIds } from './sub-ids.ts';

subIds(postgresWarehouse);
