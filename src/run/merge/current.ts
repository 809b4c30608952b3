/** What the lake holds of a pipeline that is merged, as normalise asks for it. */
import type { Day } from '../../core/days.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import type { SliceEntry } from '../../core/slices.ts';
import type { Lake } from '../../lake/lake.ts';
import type { CurrentSlices } from '../../normalise/changed-slices.ts';

/** Where versions come from and go to. */
export interface VersionPlace {
  /** The lake that is changed. */
  readonly lake: Lake;
  /** What lies under it and stays as it is: of this lake, the slices before that day. */
  readonly under: { readonly lake: Lake; readonly before: Day } | null;
}

const NOTHING = { file: null, rejectsFile: null };

/** Every slice that counts, newest last, with the lake that has its files. */
export async function slicesIn(
  { lake, under }: VersionPlace,
  pipeline: Pipeline,
): Promise<Map<Day, { lake: Lake; entry: SliceEntry }>> {
  const slices = new Map<Day, { lake: Lake; entry: SliceEntry }>();
  if (under)
    for (const [day, entry] of await under.lake.slices(pipeline.name))
      if (day < under.before) slices.set(day, { lake: under.lake, entry });
  for (const [day, entry] of await lake.slices(pipeline.name)) slices.set(day, { lake, entry });
  return slices;
}

export async function currentIn(place: VersionPlace, pipeline: Pipeline): Promise<CurrentSlices> {
  const slices = await slicesIn(place, pipeline);
  const files = ({ lake, entry }: { lake: Lake; entry: SliceEntry }) => ({
    file: lake.rowsFile(entry),
    rejectsFile: lake.rejectsFile(entry),
  });
  const known = [...slices.values()].map(files);
  return {
    knownFiles: known.flatMap(({ file }) => file ?? []),
    rejectFiles: known.flatMap(({ rejectsFile }) => rejectsFile ?? []),
    slice: (day) => {
      const slice = slices.get(day);
      return slice ? files(slice) : NOTHING;
    },
    digest: (day) => slices.get(day)?.entry.content.digest ?? null,
  };
}
