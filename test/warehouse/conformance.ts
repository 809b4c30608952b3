/** What every target must do, whatever its engine: the claims are the same, the engines are real. */
import type { NewWarehouse } from './bench.ts';
import { migrating } from './conformance/migrating.ts';
import { publishing } from './conformance/publishing.ts';
import { querying } from './conformance/querying.ts';
import { recording } from './conformance/recording.ts';
import { refusing } from './conformance/refusing.ts';
import { values } from './conformance/values.ts';

export function conformance(newWarehouse: NewWarehouse): void {
  publishing(newWarehouse);
  refusing(newWarehouse);
  recording(newWarehouse);
  values(newWarehouse);
  querying(newWarehouse);
  migrating(newWarehouse);
}
