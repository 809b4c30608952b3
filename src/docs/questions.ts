/** Questions as the dictionary shows them: the SQL of both engines, and, where a warehouse was asked, the answers. */
import { assert } from '../core/errors.ts';
import { readQuestions } from '../warehouse/dictionary/questions.ts';
import type { QueryResult, Target } from '../warehouse/target.ts';

export interface DocQuestion {
  readonly number: number;
  readonly slug: string;
  readonly question: string;
  readonly reading: readonly string[];
  /** By engine; one, called `sql`, where both take the same. */
  readonly statements: readonly { readonly engine: 'DuckDB' | 'Postgres' | 'SQL'; readonly sql: string }[];
  /** What a warehouse answered; null when none was asked. */
  readonly answer: QueryResult | null;
}

/** Rows of an answer that are shown at the most. */
const ANSWER_ROWS = 20;

/** The questions, and what `target` answers to each; null: no answers. Errors: those of `Target.query`, with the question. */
export async function docQuestions(target: Target | null): Promise<DocQuestion[]> {
  const [duckdb, postgres] = [await readQuestions('duckdb'), await readQuestions('postgres')];
  const names = (them: readonly { readonly slug: string }[]) => them.map(({ slug }) => slug).join();
  assert(names(duckdb) === names(postgres), 'a question has SQL for one engine alone');
  const questions: DocQuestion[] = [];
  for (const [i, asked] of duckdb.entries()) {
    const { sql, ...said } = asked;
    const other = postgres[i]!.sql;
    const both = [
      { engine: 'DuckDB', sql },
      { engine: 'Postgres', sql: other },
    ] as const;
    const statements = sql === other ? ([{ engine: 'SQL', sql }] as const) : both;
    const answer = target === null ? null : await target.query(target.dialect === 'duckdb' ? sql : other, ANSWER_ROWS);
    questions.push({ ...said, statements, answer });
  }
  return questions;
}
