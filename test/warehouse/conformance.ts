/** What every target must do, whatever its engine: the claims are the same, the engines are real. */
import { describe } from 'vitest';
import type { NewWarehouse } from './bench.ts';
import { accounts } from './conformance/accounts.ts';
import { atLength } from './conformance/at-length.ts';
import { checking } from './conformance/checking.ts';
import { comparing, comparingAtLength } from './conformance/comparing.ts';
import { dimensions } from './conformance/dimensions.ts';
import { marts } from './conformance/marts.ts';
import { migrating, migratingAtLength } from './conformance/migrating.ts';
import { noChecks } from './conformance/no-checks.ts';
import { publishing } from './conformance/publishing.ts';
import { pushTables } from './conformance/push.ts';
import { querying } from './conformance/querying.ts';
import { recording } from './conformance/recording.ts';
import { reductionLines } from './conformance/reductions.ts';
import { refusing } from './conformance/refusing.ts';
import { shippedChecks } from './conformance/shipped-checks.ts';
import { values } from './conformance/values.ts';
import { versions } from './conformance/versions.ts';

/** What is run with every change on both engines: whatever each of them does in its own way. */
export function conformance(newWarehouse: NewWarehouse): void {
  describeParts(newWarehouse, [
    publishing,
    refusing,
    values,
    versions,
    querying,
    noChecks,
    migrating,
    accounts,
    comparing,
  ]);
}

/**
 * What both engines do by the same code: the bookkeeping, the checks and the history are statements that src/warehouse makes for either, and a view
 * has one text (sql/marts). With every change one engine is held to it, in test/proof the other.
 */
export function sharedConformance(newWarehouse: NewWarehouse): void {
  describeParts(newWarehouse, [recording, checking, reductionLines, pushTables, dimensions, marts]);
}

/** What takes minutes: how engines behave at length, and every check that ships. */
export function conformanceAtLength(newWarehouse: NewWarehouse): void {
  describeParts(newWarehouse, [atLength, migratingAtLength, comparingAtLength, shippedChecks]);
}

/** A group each, as each registers hooks. */
function describeParts(newWarehouse: NewWarehouse, parts: readonly ((newWarehouse: NewWarehouse) => void)[]): void {
  for (const part of parts) describe(part.name, () => part(newWarehouse));
}
