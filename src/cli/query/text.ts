/** Where the SQL comes from: the command line, a file or stdin. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { EtlError } from '../../core/errors.ts';
import { LIMITS } from '../../core/limits.ts';
import type { CliContext } from '../context.ts';

const ONLY_COMMENTS = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*$/;
/** As other programs call it. */
const STDIN = '-';
/** No option has white space in its name: `-- a comment`, `--a comment`; one may have it in its value: `--file=my query.sql`. */
const COMMENT = /^--(?:[^a-zA-Z]|[^=\s]*\s)/;

/** Lets the command take SQL that begins with a comment, which looks like an option. */
export function sqlAsOperand(command: Command): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (words) => {
    const end = words.indexOf('--');
    const at = words.findIndex((word) => COMMENT.test(word));
    if (at === -1 || (end !== -1 && end < at)) return parse(words);
    return parse([...words.slice(0, at), ...words.slice(at + 1), '--', words[at]!]);
  };
}

/** Errors: `usage/no_sql`, `usage/two_queries`, `usage/sql_file`, `usage/sql_size`. */
export async function sqlFrom(
  { cwd, stdin }: Pick<CliContext, 'cwd' | 'stdin'>,
  query: string | undefined,
  file: string | undefined,
): Promise<string> {
  if (query !== undefined && file !== undefined)
    throw new EtlError('usage', 'two_queries', 'there is a query, and --file names another one', {
      hint: 'give one of the two',
    });
  const named = query === STDIN ? undefined : query;
  const isPiped = file === undefined || file === STDIN;
  const sql = named ?? (isPiped ? await fromStdin(stdin) : await fromFile(path.resolve(cwd, file)));
  if (sql === null || ONLY_COMMENTS.test(sql))
    throw new EtlError('usage', 'no_sql', 'there is no SQL to run', {
      hint: 'partner-etl sql "SELECT …", --file question.sql, or partner-etl sql < question.sql',
    });
  return sql.replace(/^\ufeff/, '');
}

async function fromFile(file: string): Promise<string> {
  try {
    return bounded(await readFile(file, 'utf8'));
  } catch (cause) {
    if (cause instanceof EtlError) throw cause;
    throw new EtlError('usage', 'sql_file', `${file} cannot be read`, {
      cause,
      concern: { file },
      hint: '--file names a file with one SQL statement',
    });
  }
}

/** Null where somebody sits at a terminal, who was not asked for anything. */
async function fromStdin(stdin: CliContext['stdin']): Promise<string | null> {
  if (stdin === null || stdin.isTTY === true) return null;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stdin) {
    const chunk = Buffer.from(part);
    bytes += chunk.length;
    if (bytes > LIMITS.sqlBytes) break;
    parts.push(chunk);
  }
  if (bytes > LIMITS.sqlBytes) throw tooLong();
  return Buffer.concat(parts).toString('utf8');
}

function bounded(sql: string): string {
  if (Buffer.byteLength(sql) > LIMITS.sqlBytes) throw tooLong();
  return sql;
}

function tooLong(): EtlError {
  return new EtlError('usage', 'sql_size', `the SQL is longer than ${LIMITS.sqlBytes} bytes`, {
    hint: 'one statement is accepted; is this the right file?',
  });
}
