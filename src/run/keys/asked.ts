/**
 * When each thing was last asked for, and what came of it: `state/asked/<pipeline>.parquet`. The plan of a night hangs on it.
 *
 * It is a memory aid and not truth: when it is lost, everything is asked for again. It stands apart from the lake because an
 * answer that changes nothing writes nothing there.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { OBSERVED_FROM, type Pipeline } from '../../core/pipeline.ts';
import { moveIntoPlace } from '../../disk/atomic.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import { versionsOf } from '../../normalise/told.ts';
import type { RunContext } from '../context.ts';

/** Things that nobody has asked for since are forgotten after so many days. */
const KEPT_DAYS = 400;

export function askedFile({ paths }: Pick<RunContext, 'paths'>, pipeline: Pipeline): string {
  return path.join(paths.state, 'asked', `${pipeline.name}.parquet`);
}

/** Makes table `asked` with the things' columns, `asked_at`, `outcome` and `misses`, how often in a row there was nothing. */
export async function readAsked(engine: Engine, context: Pick<RunContext, 'paths'>, pipeline: Pipeline): Promise<void> {
  const file = askedFile(context, pipeline);
  const things = thingColumns(pipeline);
  await engine.run(
    `CREATE OR REPLACE TABLE asked (${[...things, ...OWN].map(({ name, type }) => `${quoteName(name)} ${type}`).join(', ')})`,
  );
  try {
    await engine.run(`INSERT INTO asked BY NAME SELECT * FROM ${readParquet([file])}`);
  } catch {
    await engine.run('DELETE FROM asked'); // not there yet, or damaged: everything counts as never asked
  }
}

const OWN = [
  { name: 'asked_at', type: 'TIMESTAMPTZ' },
  { name: 'outcome', type: 'VARCHAR' },
  { name: 'misses', type: 'BIGINT' },
] as const;

function thingColumns(pipeline: Pipeline) {
  return versionsOf(pipeline).of.map((name) => {
    const kind = pipeline.columns.find((c) => c.column === name)?.kind;
    return { name, type: kind === 'money' ? 'DECIMAL(18,6)' : 'VARCHAR' };
  });
}

/** Notes what the table `told` says was answered. Answers older than what is noted already count for nothing. */
export async function noteAsked(engine: Engine, context: RunContext, pipeline: Pipeline, told: string): Promise<void> {
  await readAsked(engine, context, pipeline);
  const things = thingColumns(pipeline).map(({ name }) => quoteName(name));
  const list = things.join(', ');
  const same = things.map((thing) => `n.${thing} IS NOT DISTINCT FROM a.${thing}`).join(' AND ');
  const from = quoteName(OBSERVED_FROM);
  const file = askedFile(context, pipeline);
  const beside = `${file}.tmp`;
  const forgotten = isoTime(context.clock.now() - KEPT_DAYS * 86_400_000);
  await mkdir(path.dirname(file), { recursive: true });
  await rm(beside, { force: true });
  await engine.run(
    `COPY (
       WITH newest AS (
         SELECT ${list}, max(${from}) AS asked_at, arg_max(outcome, ${from}) AS outcome, count(*) AS times,
           bool_or(outcome = 'found') AS was_found
         FROM ${told} WHERE ${from} IS NOT NULL GROUP BY ${list})
       SELECT ${things.map((thing) => `n.${thing}`).join(', ')}, greatest(n.asked_at, a.asked_at) AS asked_at,
         CASE WHEN a.asked_at >= n.asked_at THEN a.outcome ELSE n.outcome END AS outcome,
         CASE WHEN a.asked_at >= n.asked_at THEN a.misses WHEN n.outcome = 'found' THEN 0
           WHEN n.was_found THEN 1 ELSE coalesce(a.misses, 0) + n.times END AS misses
       FROM newest AS n LEFT JOIN asked AS a ON ${same}
       UNION ALL
       SELECT a.* FROM asked AS a WHERE a.asked_at > TIMESTAMPTZ ${quoteText(forgotten)}
         AND NOT EXISTS (SELECT 1 FROM newest AS n WHERE ${same})
     ) TO ${quoteText(beside)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  await engine.run('DROP TABLE asked');
  await moveIntoPlace(beside, file);
}
