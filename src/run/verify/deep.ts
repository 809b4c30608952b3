/** The rows and rejects of a target against those of the lake, one by one: two orders that have swapped their commissions leave every sum as it was. */
import type { Day } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { Engine } from '../../engine/duckdb.ts';
import { fileBatches, parquetRows } from '../../warehouse/slice-files.ts';
import { rejectSums, rejectSumsOf } from '../../warehouse/slice-sql.ts';
import type { Reading, RejectSums } from '../../warehouse/target.ts';
import type { RunContext } from '../context.ts';

/** Rows that are compared at once, unless a single day has more; what does not fit into memory is spilled. */
const ROWS_AT_ONCE = 100_000;
const SLICES_AT_ONCE = 400;

/** Days of these slices of a pipeline whose rows differ, with what differs in words. */
export async function differingSlices(
  { lake, progress }: RunContext,
  pipeline: Pipeline,
  { name, warehouse }: { readonly name: string; readonly warehouse: Reading },
  entries: readonly SliceEntry[],
): Promise<{ readonly day: Day; readonly problem: string }[]> {
  const found: { day: Day; problem: string }[] = [];
  let compared = 0;
  for (const batch of batchesOf(entries)) {
    progress.note(`${pipeline.name}: ${name}, rows of ${compared} of ${entries.length} days compared`);
    const slices = batch.map((entry) => ({
      ...{ pipeline, content: entry.content },
      ...{ file: lake.rowsFile(entry), rejectsFile: lake.rejectsFile(entry) },
    }));
    for (const { day, rows, example } of await warehouse.differing(slices)) {
      const what = rows === 1 ? '1 row differs' : `${rows.toLocaleString('en-US')} rows differ`;
      found.push({ day, problem: `${what} from the lake, as ${example}` });
    }
    compared += batch.length;
  }
  return found;
}

/** Slices of a pipeline whose files are sound, and what their rejects are, by day. */
export interface LakeRejects {
  readonly entries: ReadonlySet<SliceEntry>;
  readonly sums: ReadonlyMap<Day, RejectSums>;
}

/** Of all slices but the damaged ones. The file of one that an older program made may lack columns; the plan asks for it again. */
export async function lakeRejects(
  { lake }: RunContext,
  engine: Engine,
  pipeline: Pipeline,
  damaged: ReadonlySet<SliceEntry>,
): Promise<LakeRejects> {
  const slices = [...(await lake.slices(pipeline.name)).values()];
  const entries = slices.filter((entry) => !damaged.has(entry) && entry.content.version === pipeline.version);
  const sums = new Map<Day, RejectSums>();
  for (const batch of fileBatches(entries.flatMap((entry) => lake.rejectsFile(entry) ?? [])))
    for (const [day, one] of rejectSumsOf(await engine.rows(rejectSums('duckdb', parquetRows(batch)))))
      sums.set(day, one);
  return { entries: new Set(entries), sums };
}

/** Days of a target whose rejects are not those of the lake, with what differs in words. `slices`: all that the lake has. */
export function differingRejects(
  { entries, sums }: LakeRejects,
  slices: ReadonlyMap<Day, SliceEntry>,
  there: ReadonlyMap<Day, RejectSums>,
): { readonly day: Day; readonly problem: string }[] {
  const unknown = [...there.keys()].filter((day) => !slices.has(day));
  const differing = [...entries].flatMap(({ content: { day } }) => {
    const [ours, theirs] = [sums.get(day) ?? NO_REJECTS, there.get(day) ?? NO_REJECTS];
    if (ours.rejects !== theirs.rejects)
      return [{ day, problem: `${theirs.rejects} rejects in etl.reject, the lake has ${ours.rejects}` }];
    return ours.hashes === theirs.hashes
      ? []
      : [{ day, problem: 'its rejects in etl.reject are not those of the lake' }];
  });
  return [
    ...differing,
    ...unknown.map((day) => ({ day, problem: 'etl.reject has rejects that the lake does not know' })),
  ];
}

const NO_REJECTS: RejectSums = { rejects: 0, hashes: '' };

function batchesOf(entries: readonly SliceEntry[]): SliceEntry[][] {
  const batches: SliceEntry[][] = [];
  let rows = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const isFull = rows + entry.content.rows > ROWS_AT_ONCE || batches.at(-1)?.length === SLICES_AT_ONCE;
    if (isFull) {
      batches.push([]);
      rows = 0;
    }
    batches.at(-1)!.push(entry);
    rows += entry.content.rows;
  }
  return batches;
}
