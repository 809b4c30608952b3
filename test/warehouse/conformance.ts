/** What every target must do, whatever its engine: the claims are the same, the engines are real. */
import { describe } from 'vitest';
import type { NewWarehouse } from './bench.ts';
import { checking } from './conformance/checking.ts';
import { dimensions } from './conformance/dimensions.ts';
import { marts } from './conformance/marts.ts';
import { migrating } from './conformance/migrating.ts';
import { publishing } from './conformance/publishing.ts';
import { pushTables } from './conformance/push.ts';
import { querying } from './conformance/querying.ts';
import { recording } from './conformance/recording.ts';
import { reductionLines } from './conformance/reductions.ts';
import { refusing } from './conformance/refusing.ts';
import { values } from './conformance/values.ts';
import { versions } from './conformance/versions.ts';

export function conformance(newWarehouse: NewWarehouse): void {
  for (const part of [
    publishing,
    refusing,
    recording,
    values,
    versions,
    reductionLines,
    pushTables,
    dimensions,
    marts,
    querying,
    checking,
    migrating,
  ])
    describe(part.name, () => part(newWarehouse)); // a group each, as each registers hooks
}
