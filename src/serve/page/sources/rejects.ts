/** Rejects by pipeline, day and reason. The raw text stays where it is: `partner-etl rejects`, or the page of the day. */
import { parentName } from '../../../core/pipeline.ts';
import { Engine, readParquet } from '../../../engine/duckdb.ts';
import type { RunContext } from '../../../run/context.ts';
import type { Reject } from '../model.ts';

/** A file holds the rejects of a slice; of more than these the older ones are only counted, in the calendar. */
const FILES_READ = 500;
const GROUPS_SHOWN = 200;

/** Newest days first. The files are named by their content, so they are read again only when other ones are there. */
export class RejectGroups {
  private read: { readonly files: string; readonly groups: readonly Reject[] } | null = null;

  async of(context: RunContext): Promise<readonly Reject[]> {
    const files = await newestFiles(context);
    const name = files.join('\n');
    if (this.read?.files !== name) this.read = { files: name, groups: await groupsIn(context, files) };
    return this.read.groups;
  }
}

async function newestFiles({ pipelines, lake }: RunContext): Promise<string[]> {
  const found: { readonly day: string; readonly file: string }[] = [];
  for (const { name } of pipelines)
    for (const [day, entry] of await lake.slices(name)) {
      const file = lake.rejectsFile(entry);
      if (file) found.push({ day, file });
    }
  return found
    .sort((a, b) => (a.day < b.day ? 1 : -1))
    .slice(0, FILES_READ)
    .map(({ file }) => file);
}

async function groupsIn(context: RunContext, files: readonly string[]): Promise<Reject[]> {
  if (files.length === 0) return [];
  // People name the whole, also to retry.
  const wholes = new Map(context.pipelines.map((p) => [p.name, parentName(p)]));
  const engine = await Engine.open({ tempDir: context.paths.work, ...context.engine });
  try {
    const rows = await engine.rows(
      `SELECT pipeline, slice_day::VARCHAR AS slice_day, reason, arg_min(detail, item) AS detail, count(*) AS n
       FROM ${readParquet(files)} GROUP BY ALL ORDER BY slice_day DESC, pipeline, reason LIMIT ${GROUPS_SHOWN}`,
    );
    return rows.map((row) => ({
      pipeline: wholes.get(String(row.pipeline)) ?? String(row.pipeline),
      slice_day: String(row.slice_day) as Reject['slice_day'],
      reason: String(row.reason),
      detail: String(row.detail ?? ''),
      count: Number(row.n),
    }));
  } finally {
    engine.close();
  }
}
