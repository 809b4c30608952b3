import { conformanceAtLength } from '../../warehouse/conformance.ts';
import { postgresWarehouse } from '../../warehouse/postgres/warehouse.ts';

conformanceAtLength(postgresWarehouse);
