/** SQL files that begin with comment lines of the form `-- key: value`, which say how the statement behind them is meant. */

export interface HeadedSql {
  /** The lines in front of the statement, in order; other comments are left out. */
  readonly header: readonly { readonly key: string; readonly value: string }[];
  /** The statement without a semicolon at its end; '' where there is none. */
  readonly sql: string;
}

const HEADER = /^--\s*([a-z]+):\s*(\S.*?)\s*$/;
const COMMENT_OR_EMPTY = /^\s*(--.*)?$/;

/** `keys`: what counts as a header; another word before a colon is a comment like any other. */
export function headedSql(text: string, keys: readonly string[]): HeadedSql {
  const lines = text.split(/\r?\n/);
  const end = lines.findIndex((line) => !COMMENT_OR_EMPTY.test(line));
  const statement = end === -1 ? [] : lines.slice(end);
  const header = lines.slice(0, lines.length - statement.length).flatMap((line) => {
    const [, key = '', value = ''] = HEADER.exec(line) ?? [];
    return keys.includes(key) ? [{ key, value }] : [];
  });
  return { header, sql: statement.join('\n').trim().replace(/;$/, '') };
}
