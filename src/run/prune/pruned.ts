/** What is refused because retention has deleted the answers that it needs. */
import type { Day } from '../../core/days.ts';
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { prunedWords } from '../../core/pruned.ts';
import type { FetchRecord } from '../../core/records.ts';

/** Refuses to make the days of a report of answers of which some are gone: what the others tell is less. Errors: `usage/pruned`. */
export function demandUnpruned(
  { name }: Pipeline,
  answers: readonly { readonly day: Day; readonly fetch: FetchRecord }[],
): void {
  const gone = answers.filter(({ fetch }) => fetch.pruned_at !== undefined);
  const days = [...new Set(gone.map(({ day }) => day))].sort();
  const [first, last] = [days[0], days.at(-1)];
  if (!first || !last) return;
  const which = first === last ? first : `${first}..${last} (${days.length} days)`;
  throw new EtlError(
    'usage',
    'pruned',
    `an answer of ${name} for ${which} was ${prunedWords(gone[0]!.fetch.pruned_at!)}`,
    {
      concern: { pipeline: name, window: `${first}..${last}` },
      hint: `ask the service again: partner-etl backfill ${name} --from ${first} --to ${last} --refetch`,
    },
  );
}

/** The same of versions, which are made of every answer since a day, and of what nobody can ask for again. Errors: `usage/pruned`. */
export function demandUnprunedSince(
  { name }: Pipeline,
  dayOf: (fetch: FetchRecord) => Day,
  fetches: readonly FetchRecord[],
): void {
  const gone = fetches.filter((fetch) => fetch.pruned_at !== undefined);
  const newest = gone.at(-1);
  if (newest === undefined) return;
  throw new EtlError(
    'usage',
    'pruned',
    `${gone.length} answers of ${name} are gone, the newest of ${dayOf(newest)}: ${prunedWords(newest.pruned_at!)}`,
    {
      concern: { pipeline: name },
      hint: `replay the days behind ${dayOf(newest)}, or restore the raw store from a backup; the rows themselves are in the lake`,
    },
  );
}
