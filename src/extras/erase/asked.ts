/** What look-ups remember of when each thing was asked for, without the values that are erased. What cannot be read is forgotten. */
import { rm, stat } from 'node:fs/promises';
import type { Pipeline } from '../../core/pipeline.ts';
import { moveIntoPlace } from '../../disk/atomic.ts';
import { type Engine, quoteName, quoteText, readParquet } from '../../engine/duckdb.ts';
import { findTexts, makeRespelled, RESPELLED } from '../../engine/respell.ts';
import type { RunContext } from '../../run/context.ts';
import { askedFile } from '../../run/keys/asked.ts';
import type { MaskScope } from '../masking/mask-text.ts';
import { respellingsOf, type Sought } from './columns.ts';
import { respelled } from './lake.ts';

/** Returns how many files were concerned: one or none. */
export async function maskAsked(
  context: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  { scope, sought, isDryRun }: { readonly scope: MaskScope; readonly sought: Sought; readonly isDryRun: boolean },
): Promise<number> {
  const file = askedFile(context, pipeline);
  const beside = `${file}.tmp`;
  if (!isDryRun) await rm(beside, { force: true });
  if (!(await stat(file).catch(() => null))) return 0;
  const things = pipeline.versions?.of ?? [];
  const respellings = respellingsOf(pipeline, scope, sought).filter(({ column }) => things.includes(column));
  const rows = readParquet([file]);
  const pairs = new Map<string, string>();
  for (const respelling of respellings)
    for (const [old, fresh] of (await findTexts(engine, rows, respelling)).pairs)
      pairs.set(`${respelling.column}\u001f${old}`, fresh);
  if (pairs.size === 0 || isDryRun) return Math.min(pairs.size, 1);
  const columns = respellings.map(({ column }) => quoteName(column));
  const anew = respellings.map(({ column }) => respelled(column, respellings));
  await makeRespelled(engine, pairs);
  await engine.run(
    `COPY (SELECT * EXCLUDE (${columns.join(', ')}), ${anew.join(', ')} FROM ${rows})
     TO ${quoteText(beside)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  await engine.run(`DROP TABLE ${RESPELLED}`);
  await moveIntoPlace(beside, file);
  return 1;
}
