import { postgresWarehouse } from '../postgres/warehouse.ts';
import { accountsApart } from './accounts.ts';

accountsApart(postgresWarehouse);
