import { postgresWarehouse } from '../postgres/warehouse.ts';
import { reconciliation } from './reconciliation.ts';

reconciliation(postgresWarehouse);
