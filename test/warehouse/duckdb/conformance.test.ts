import { conformance } from '../conformance.ts';
import { duckdbWarehouse } from './warehouse.ts';

conformance(duckdbWarehouse);
