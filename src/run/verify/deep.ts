/** The rows of a target against those of the lake, one by one: two orders that have swapped their commissions leave every sum as it was. */
import type { Day } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { Reading } from '../../warehouse/target.ts';
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
