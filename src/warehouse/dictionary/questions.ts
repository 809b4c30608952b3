/**
 * Questions that people ask of the warehouse, each with its answer in SQL: `sql/questions/NN_slug.sql`, or `NN_slug.duckdb.sql` and
 * `NN_slug.postgres.sql` where the engines need different SQL. In front of the statement stand comment lines:
 *   -- question: what is asked, in one sentence
 *   -- reading: how to read the answer; may stand several times
 * The columns of the answer are those of the statement, which takes no parameters.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { EtlError } from '../../core/errors.ts';
import { packageRoot } from '../../disk/package-root.ts';
import { headedSql } from '../headed-sql.ts';
import type { SqlDialect } from '../target-name.ts';

export interface Question {
  readonly number: number;
  /** As in the name of the file. */
  readonly slug: string;
  readonly question: string;
  readonly reading: readonly string[];
  /** One read-only statement, without the header and without a semicolon. */
  readonly sql: string;
}

const FILE = /^(\d{2})_([a-z0-9]+(?:_[a-z0-9]+)*)(?:\.(duckdb|postgres))?\.sql$/;

/** The questions for an engine, by number. Errors: `bug/question` for a file that is none, with file and reason. */
export async function readQuestions(engine: SqlDialect): Promise<Question[]> {
  const folder = path.join(await packageRoot(), 'sql', 'questions');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  const found = new Map<number, Question>();
  for (const name of names) {
    const file = path.join(folder, name);
    const [, number, slug, only] = FILE.exec(name) ?? [];
    if (number === undefined || slug === undefined)
      throw noQuestion(file, 'its name is not NN_slug.sql, NN_slug.duckdb.sql or NN_slug.postgres.sql');
    if ((only ?? engine) !== engine) continue;
    const other = found.get(Number(number));
    if (other) throw noQuestion(file, `${number}_${other.slug} has its number`);
    found.set(Number(number), parseQuestion(Number(number), slug, file, await readFile(file, 'utf8')));
  }
  return [...found.values()].sort((a, b) => a.number - b.number);
}

/** Errors: `bug/question` where the header lacks something or there is no statement. */
export function parseQuestion(number: number, slug: string, file: string, text: string): Question {
  const { header, ...headed } = headedSql(text, ['question', 'reading']);
  const sql = headed.sql.trimEnd();
  const said = (wanted: string) => header.filter(({ key }) => key === wanted).map(({ value }) => value);
  const questions = said('question');
  const reading = said('reading');
  const [question] = questions;
  if (question === undefined || questions.length > 1)
    throw noQuestion(file, 'it needs one line "-- question: …" in front of its statement');
  if (reading.length === 0) throw noQuestion(file, 'it has no line "-- reading: …" in front of its statement');
  if (sql === '') throw noQuestion(file, 'there is no statement in it');
  return { number, slug, question, reading, sql };
}

function noQuestion(file: string, reason: string): EtlError {
  return new EtlError('bug', 'question', `${file} is no question: ${reason}`, {
    concern: { file },
    hint: 'the file comes with the program: fix it, or install the program again',
  });
}
