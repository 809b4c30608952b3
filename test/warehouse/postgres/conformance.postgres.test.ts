import { conformance, sharedConformance } from '../conformance.ts';
import { postgresWarehouse } from './warehouse.ts';

conformance(postgresWarehouse);
sharedConformance(postgresWarehouse);
