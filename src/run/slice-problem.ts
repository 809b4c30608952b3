/** Whether a slice's files hold what the lake's manifest says of them. */
import { asEtlError } from '../core/errors.ts';
import type { Pipeline } from '../core/pipeline.ts';
import { differingSums } from '../engine/control-sums.ts';
import { type Engine, quoteList } from '../engine/duckdb.ts';
import { measureSlice } from '../engine/measure.ts';
import type { SliceEntry } from '../lake/entries.ts';
import type { Lake } from '../lake/lake.ts';

/** What is wrong with a slice's files, or null. Everything that the manifest says is computed again from the rows. */
export async function sliceProblem(
  engine: Engine,
  lake: Lake,
  pipeline: Pipeline,
  entry: SliceEntry,
): Promise<string | null> {
  const { content } = entry;
  if (content.version !== pipeline.version) return null; // made by an older program; the plan asks for it again
  const file = lake.rowsFile(pipeline.name, entry);
  const rejects = lake.rejectsFile(pipeline.name, entry);
  try {
    const rows = file && `read_parquet(${quoteList([file])})`;
    const measured = await measureSlice(engine, pipeline, rows, rejects);
    const sums = differingSums(measured.sums, content.sums);
    if (sums.length > 0) return `${file}: the sums of ${sums.join(', ')} differ from the manifest`;
    if (measured.digest === content.digest) return null;
    const spelledOut = await measureSlice(engine, pipeline, rows, rejects, 'words');
    return spelledOut.digest === content.digest
      ? null
      : `${file ?? rejects}: its rows are not those of digest ${content.digest}, which the manifest names`;
  } catch (thrown) {
    // The lines behind the first are DuckDB's view of our SQL.
    return `${file ?? rejects}: ${asEtlError(thrown).message.split('\n')[0]}`;
  }
}
