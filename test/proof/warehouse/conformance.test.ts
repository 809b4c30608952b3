import { conformanceAtLength, sharedConformance } from '../../warehouse/conformance.ts';
import { duckdbWarehouse } from '../../warehouse/duckdb/warehouse.ts';

conformanceAtLength(duckdbWarehouse);
sharedConformance(duckdbWarehouse);
