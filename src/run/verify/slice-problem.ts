/** Whether a slice's files hold what the lake's table says of them. */
import type { Day } from '../../core/days.ts';
import { asEtlError, EtlError } from '../../core/errors.ts';
import { type Pipeline, parentName } from '../../core/pipeline.ts';
import type { SliceEntry } from '../../core/slices.ts';
import { differingSums } from '../../engine/control-sums.ts';
import { type Engine, readParquet } from '../../engine/duckdb.ts';
import { measureSlice } from '../../engine/measure.ts';
import type { Lake } from '../../lake/lake.ts';
import type { RunContext } from '../context.ts';
import type { RangeFix } from './fixes.ts';

/** The command that makes slices again whose files are damaged. What one lost to another day is known by the service alone. */
export function fixOver(pipeline: Pipeline, { content: { day }, moved }: SliceEntry): RangeFix {
  const over = (from: Day, to: Day) => {
    if (pipeline.isHistory) return 'partner-etl rebuild --history';
    const range = `${parentName(pipeline)} --from ${from} --to ${to}`;
    return moved ? `partner-etl backfill ${range} --refetch` : `partner-etl replay ${range}`;
  };
  return { from: day, to: day, over };
}

export function fixOf(pipeline: Pipeline, entry: SliceEntry): string {
  const { from, to, over } = fixOver(pipeline, entry);
  return over(from, to);
}

/** What keeps a file from being read that is sound. */
const OF_THE_MACHINE = /permission denied|too many open files|no space left|out of memory|input\/output error/i;

/** An error over a file of the lake names its slice and the fix; any other stays as it is. */
export async function namingSlice({ lake, pipelines }: RunContext, error: EtlError): Promise<EtlError> {
  // The lines behind the first are DuckDB's view of our SQL, which names files that are sound.
  const [said = ''] = error.message.split('\n');
  if (error.code !== 'unexpected' || OF_THE_MACHINE.test(said)) return error;
  for (const file of lake.filesNamedIn(said)) {
    const pipeline = pipelines.find(({ name }) => name === file.pipeline);
    const entry = pipeline && (await lake.slices(pipeline.name)).get(file.day);
    if (!entry) continue;
    const why = said.replace(` '${file.path}'`, '');
    return new EtlError('failed', 'damaged_slice', `${file.path} cannot be read: ${why}`, {
      concern: { ...error.concern, pipeline: pipeline.name, day: file.day, file: file.path },
      cause: error.cause,
      hint: `make it again: ${fixOf(pipeline, entry)}`,
    });
  }
  return error;
}

/** What is wrong with a slice's files, or null. Everything that the table says is computed again from the rows. */
export async function sliceProblem(
  engine: Engine,
  lake: Lake,
  pipeline: Pipeline,
  entry: SliceEntry,
): Promise<string | null> {
  const { content } = entry;
  if (content.version !== pipeline.version) return null; // made by an older program; the plan asks for it again
  const file = lake.rowsFile(entry);
  const rejects = lake.rejectsFile(entry);
  try {
    const rows = file && readParquet([file]);
    const measured = await measureSlice(engine, pipeline, rows, rejects);
    const sums = differingSums(measured.sums, content.sums);
    if (sums.length > 0) return `${file}: the sums of ${sums.join(', ')} differ from the lake's table`;
    return measured.digest === content.digest
      ? null
      : `${file ?? rejects}: its rows are not those of digest ${content.digest}, which the lake's table names`;
  } catch (thrown) {
    // The lines behind the first are DuckDB's view of our SQL.
    return `${file ?? rejects}: ${asEtlError(thrown).message.split('\n')[0]}`;
  }
}

/** Those of the days whose files are not what the table says, so that they have to be written again. */
export async function damagedDays(
  engine: Engine,
  lake: Lake,
  pipeline: Pipeline,
  days: readonly Day[],
): Promise<ReadonlySet<Day>> {
  const slices = await lake.slices(pipeline.name);
  const damaged = new Set<Day>();
  for (const day of days) {
    const entry = slices.get(day);
    if (entry && (await sliceProblem(engine, lake, pipeline, entry)) !== null) damaged.add(day);
  }
  return damaged;
}
