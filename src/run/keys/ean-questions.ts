/** The EANs to ask about: from the file and from the query on the warehouse, in this order. */
import { EtlError } from '../../core/errors.ts';
import type { Pipeline } from '../../core/pipeline.ts';
import { readEanFile } from '../../extract/ean-csv.ts';
import { EanList, type EanReject, type ListedEan, takeRows } from '../../extract/ean-list.ts';
import type { Target } from '../../warehouse/target.ts';
import { type RunContext, settingsOf } from '../context.ts';

/** Of a query that forgot its WHERE. */
const MOST_ROWS = 5_000_000;

export interface EanQuestions {
  /** What cannot be asked: the first ones. */
  readonly rejects: readonly EanReject[];
  /** What people should know of where it comes from. */
  readonly notes: readonly string[];
}

/**
 * Reads the list; `take` is handed the questions as they come, some thousand at a time. `pipeline`: whose settings may name the condition
 * that is asked for where the list names none. Errors: `usage/ean_file`, `usage/ean_query`.
 */
export async function eanQuestions(
  context: RunContext,
  pipeline: Pipeline,
  take: (questions: readonly ListedEan[]) => Promise<void>,
): Promise<EanQuestions> {
  const { eans, targets } = context;
  const { condition = 'NEW' } = settingsOf<{ readonly condition?: string }>(context, pipeline);
  const list = new EanList(condition);
  const notes: string[] = [];
  let isEmpty = true;
  const taken = async () => {
    const questions = list.newQuestions();
    if (questions.length === 0) return;
    isEmpty = false;
    await take(questions);
  };
  if (eans.file !== null) await readEanFile(eans.file, list, taken);
  if (eans.query !== null) notes.push(...(await takeQuery(eans.query, targets, list, taken)));
  if (isEmpty && notes.length === 0)
    notes.push(
      eans.file === null && eans.query === null
        ? 'no list of EANs is set: see eans.file and eans.query in the settings'
        : 'the list of EANs is empty',
    );
  return { rejects: list.rejects, notes };
}

/** DuckDB is asked where it is kept: it is nearest, and nobody else waits for it. */
async function takeQuery(
  query: string,
  targets: readonly Target[],
  list: EanList,
  taken: () => Promise<void>,
): Promise<string[]> {
  const target = targets.find(({ name }) => name === 'duckdb') ?? targets[0];
  if (!target || !(await target.exists())) return ['the query for EANs waits for a first night in the warehouse'];
  const { columns, rows, truncated } = await target.query(query, MOST_ROWS).catch((cause) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new EtlError('usage', 'ean_query', `the query for EANs fails in ${target.name}: ${why}`, {
      cause,
      hint: 'fix eans.query in the settings; try it with partner-etl sql',
    });
  });
  if (!columns.some((name) => name.toLowerCase() === 'ean'))
    throw new EtlError('usage', 'ean_query', `the query for EANs yields ${columns.join(', ')}, but no column ean`, {
      hint: 'fix eans.query in the settings: it yields ean and, if wanted, price and condition',
    });
  takeRows(
    rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))),
    list,
  );
  await taken();
  return truncated ? [`the query for EANs yields more than ${MOST_ROWS} rows; the rest is left out`] : [];
}
