import { dictionaryClaims } from './dictionary-claims.ts';
import { postgresWarehouse } from './postgres/warehouse.ts';

dictionaryClaims(postgresWarehouse);
