/**
 * Versions in a warehouse: `observed_to` of a row is the `observed_from` of the next row of the same thing, null for the last. A
 * part's row takes it from the row of its whole, of the same thing and instant; a whole and its parts are a family.
 *
 * A publication may bring days in any order and take rows away, so what it touches is the things: those of the rows that its
 * slices had and of the rows that they have now. They are noted in a temporary table for each family, before and after a slice
 * is replaced, and at the end all their rows are looked at, but only those whose `observed_to` is wrong are written. A
 * warehouse that is made afresh has its rows looked at without such notes; and where rows come with it, worked out over all
 * of them, into tables that held nothing, there is nothing left to look at.
 *
 * The SQL is the same in both engines but for the name under which they know a row's place.
 */
import { assert } from '../core/errors.ts';
import { OBSERVED_FROM, OBSERVED_TO, type Pipeline, type Versions } from '../core/pipeline.ts';
import { quoteName } from '../engine/duckdb.ts';
import type { PipelineLoad } from './slice-sql.ts';
import { factTable, OF_ACCOUNT, onSlices, sameIn } from './table-sql.ts';

/** The engine, inside the publication's transaction. */
export interface VersionEngine {
  readonly place: 'rowid' | 'ctid';
  /** Whether rows come with the `observed_to` that all rows of the publication together tell. */
  readonly bringsEnds: boolean;
  run(sql: string): Promise<unknown>;
  /** The same for a statement that joins notes, in their order, with tables that may be a hundred times as long. */
  seek(sql: string): Promise<unknown>;
  row(sql: string): Promise<Readonly<Record<string, unknown>>>;
}

/** What one publication is loaded into. */
export interface LoadScope {
  readonly engine: VersionEngine;
  /** All pipelines whose tables the warehouse has. */
  readonly pipelines: readonly Pipeline[];
  readonly afresh: boolean;
}

type Versioned = Pipeline & { readonly versions: Versions };

/** Loads each with `loadOne`, keeping `observed_to` right; returns the rows loaded. */
export async function loadVersioned(
  scope: LoadScope,
  loads: readonly PipelineLoad[],
  loadOne: (load: PipelineLoad) => Promise<number>,
): Promise<number> {
  const families = new Map<string, Versioned | null>();
  let rows = 0;
  for (const load of loads) {
    const whole = wholeOf(load.pipeline, scope.pipelines);
    if (whole && !families.has(whole.name)) {
      const isRight = await comesRight(scope, whole, loads);
      families.set(whole.name, isRight ? null : whole);
      if (!isRight && !scope.afresh) await scope.engine.run(newNotes(whole));
    }
    const unsettled = whole && families.get(whole.name);
    if (unsettled) await note(scope, unsettled, load);
    rows += await loadOne(load);
    if (unsettled) await note(scope, unsettled, load);
  }
  for (const whole of families.values()) if (whole) await settle(scope, whole);
  return rows;
}

/** Whether all rows that the family will have come with their ends: it holds none yet, and parts do not come without their whole. */
async function comesRight(scope: LoadScope, whole: Versioned, loads: readonly PipelineLoad[]): Promise<boolean> {
  if (!scope.engine.bringsEnds || !loads.some(({ pipeline }) => pipeline.name === whole.name)) return false;
  const family = [whole, ...childrenOf(whole, scope.pipelines)];
  const held = family.map((one) => `EXISTS (SELECT 1 FROM ${factTable(one)} WHERE ${OF_ACCOUNT})`).join(' OR ');
  return (await scope.engine.row(`SELECT ${held} AS held`)).held === false;
}

function childrenOf(whole: Versioned, pipelines: readonly Pipeline[]): Pipeline[] {
  return pipelines.filter(({ versions }) => versions?.within === whole.name);
}

/** The pipeline whose rows are the versions; null for rows that are facts of their day. */
function wholeOf(pipeline: Pipeline, pipelines: readonly Pipeline[]): Versioned | null {
  if (!isVersioned(pipeline)) return null;
  const { within } = pipeline.versions;
  if (within === null) return pipeline;
  const whole = pipelines.find(({ name }) => name === within);
  assert(whole && isVersioned(whole), `${pipeline.name}: there are no versions called ${within}`);
  assert(
    String(whole.versions.of) === String(pipeline.versions.of),
    `${pipeline.name} and ${within} name other things`,
  );
  return whole;
}

function isVersioned(pipeline: Pipeline): pipeline is Versioned {
  return pipeline.versions !== null;
}

function notesOf(whole: Versioned): string {
  return quoteName(`touched_${whole.table}`);
}

function newNotes(whole: Versioned): string {
  const things = whole.versions.of.map(quoteName).join(', ');
  return `CREATE TEMPORARY TABLE ${notesOf(whole)} AS SELECT ${things} FROM ${factTable(whole)} WHERE false`;
}

/**
 * Notes the things that the slices have now. EXCEPT takes nulls for equal, and leaves each thing once. In order: so each is found beside
 * the one before it, in an index as on disk (three years in Postgres: 3.5 s for the notes of 45 days, else 14).
 */
async function note({ engine, afresh }: LoadScope, whole: Versioned, { pipeline, days }: PipelineLoad): Promise<void> {
  if (afresh) return;
  const things = whole.versions.of.map(quoteName).join(', ');
  await engine.run(
    `INSERT INTO ${notesOf(whole)}
     SELECT ${things} FROM ${factTable(pipeline)} WHERE ${onSlices(pipeline, days)}
     EXCEPT SELECT ${things} FROM ${notesOf(whole)} ORDER BY ${things}`,
  );
}

/** Sets `observed_to` of the noted things right, first in the whole and then in its parts. */
async function settle({ engine, pipelines, afresh }: LoadScope, whole: Versioned): Promise<void> {
  if (!afresh) await engine.run(`ANALYZE ${notesOf(whole)}`);
  const notes = afresh ? null : notesOf(whole);
  await engine.seek(updating(whole, engine, versionEnds(whole, engine, notes)));
  for (const part of childrenOf(whole, pipelines))
    await engine.seek(updating(part, engine, partEnds(part, whole, engine, notes)));
  if (!afresh) await engine.run(`DROP TABLE ${notesOf(whole)}`);
}

/** `ends` selects the places of rows that are wrong, and what is right. */
function updating(pipeline: Pipeline, { place }: VersionEngine, ends: string): string {
  return `UPDATE ${factTable(pipeline)} AS kept SET ${OBSERVED_TO} = wrong.ends FROM (${ends}) AS wrong WHERE kept.${place} = wrong.place`;
}

function versionEnds(whole: Versioned, { place }: VersionEngine, notes: string | null): string {
  const things = whole.versions.of.map((column) => `seen.${quoteName(column)}`).join(', ');
  return `SELECT place, ends FROM (
      SELECT seen.${place} AS place, seen.${OBSERVED_TO} AS ${OBSERVED_TO},
        lead(seen.${OBSERVED_FROM}) OVER (PARTITION BY ${things} ORDER BY seen.${OBSERVED_FROM}) AS ends
      FROM ${factTable(whole)} AS seen ${among(whole, notes)} WHERE seen.${OF_ACCOUNT}
    ) AS seen WHERE ${OBSERVED_TO} IS DISTINCT FROM ends`;
}

function partEnds(part: Pipeline, whole: Versioned, { place }: VersionEngine, notes: string | null): string {
  return `SELECT seen.${place} AS place, whole.${OBSERVED_TO} AS ends
    FROM ${factTable(part)} AS seen ${among(whole, notes)}
    LEFT JOIN ${factTable(whole)} AS whole ON ${sameIn(whole, [...whole.versions.of, OBSERVED_FROM], 'seen', 'whole')} AND whole.${OF_ACCOUNT}
    WHERE seen.${OF_ACCOUNT} AND seen.${OBSERVED_TO} IS DISTINCT FROM whole.${OBSERVED_TO}`;
}

/** A join that leaves the rows of noted things. */
function among(whole: Versioned, notes: string | null): string {
  return notes === null ? '' : `JOIN ${notes} AS noted ON ${sameIn(whole, whole.versions.of, 'seen', 'noted')}`;
}

/** Columns that name a version: those of its thing, and since when it was seen. */
export function versionNames({ versions }: Pipeline): string[] {
  return [...(versions?.of ?? []), OBSERVED_FROM];
}

/**
 * SQL of the versions among `rows` that have a next one there, by their names, with its beginning as `observed_to`. Each is there
 * once, also where `rows` has it twice, so that a join with it leaves as many rows as there are.
 */
export function endedAmong(pipeline: Pipeline, rows: string): string {
  const names = versionNames(pipeline).map(quoteName).join(', ');
  const things = (pipeline.versions?.of ?? []).map(quoteName).join(', ');
  return `SELECT ${names}, ${OBSERVED_TO} FROM (
      SELECT ${names}, lead(${OBSERVED_FROM}) OVER (PARTITION BY ${things} ORDER BY ${OBSERVED_FROM}) AS ${OBSERVED_TO} FROM ${rows}
    ) WHERE ${OBSERVED_TO} > ${OBSERVED_FROM}`;
}
