/**
 * What refuses a replay: the lake has rows of an answer that the raw store cannot give any more. Made again from the others they would
 * be gone, and nobody could ask for them again.
 */
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import { childrenOf, OBSERVED_ON, type Pipeline } from '../../core/pipeline.ts';
import type { FetchRecord } from '../../core/records.ts';
import { quoteText } from '../../engine/duckdb.ts';
import { placeOf } from '../../store/tables/fetches.ts';
import type { RunContext } from '../context.ts';
import type { Session } from '../session.ts';
import { fetchesNamed, problemOf } from './answers-behind.ts';

/** Of rows from that day on, which are made again from these fetches. Errors: `failed/missing_answer`. */
export async function demandAnswers(
  { context, engine }: Session,
  pipeline: Pipeline,
  from: Day,
  fetches: readonly FetchRecord[],
): Promise<void> {
  const named = new Set<string>();
  for (const one of [pipeline, ...childrenOf(context.pipelines, pipeline)]) {
    // What began before that day stands, though it ended since.
    const where = one.isHistory ? `${OBSERVED_ON} >= DATE ${quoteText(from)}` : 'true';
    for (const [day, entry] of await context.lake.slices(one.name))
      if (day >= from)
        // Of a file that is damaged nobody knows what it stood on: it is what the replay fixes.
        for (const id of await fetchesNamed(context, engine, [entry], where).catch(() => [])) named.add(id);
  }
  const lost: Lost[] = [];
  for (const fetch of fetches) {
    if (!named.delete(fetch.fetch_id)) continue;
    const problem = await problemOf(context.raw, fetch);
    if (problem !== null) lost.push({ file: fileOf(context, fetch), problem });
  }
  // What a list of ours could not ask is named by the run.
  const file = context.paths.database;
  for (const id of named) if (id.startsWith('f')) lost.push({ file, problem: `${file} has no record of fetch ${id}` });
  if (lost.length > 0) throw missing(pipeline, lost);
}

interface Lost {
  /** What holds the answer, or ought to. */
  readonly file: string;
  readonly problem: string;
}

function fileOf({ raw }: RunContext, { raw_path: at }: FetchRecord): string {
  return raw.place.called(placeOf(at ?? '').object);
}

function missing({ name }: Pipeline, lost: readonly Lost[]): EtlError {
  const { file, problem } = lost[0]!;
  const what = lost.length === 1 ? 'an answer' : `${lost.length} answers`;
  return new EtlError('failed', 'missing_answer', `rows of ${name} stand on ${what} that cannot be read: ${problem}`, {
    concern: { pipeline: name, file },
    hint: `restore ${file} from a backup; nothing was changed, the rows themselves are in the lake`,
  });
}

/** Days of a report are made again of their newest answers; where that of the slice is unknown, an older one would take its place. */
export function demandKnown(
  { name }: Pipeline,
  slices: readonly { readonly day: Day; readonly fetchId: string }[],
  known: ReadonlySet<string>,
): void {
  const lost = slices.filter(({ fetchId }) => !known.has(fetchId)).map(({ day }) => day);
  const [first, last] = [lost[0], lost.at(-1)];
  if (!first || !last) return;
  throw new EtlError(
    'failed',
    'missing_answer',
    `there is no record of the answer that ${name} of ${first} stands on`,
    {
      concern: { pipeline: name, window: `${first}..${last}` },
      hint: `ask the service again: partner-etl backfill ${name} --from ${first} --to ${last} --refetch`,
    },
  );
}
