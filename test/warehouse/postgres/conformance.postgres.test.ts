import { conformance } from '../conformance.ts';
import { postgresWarehouse } from './warehouse.ts';

conformance(postgresWarehouse);
