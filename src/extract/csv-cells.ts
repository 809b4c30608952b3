/**
 * The cells of one line of CSV. Readers of CSV for whole files, DuckDB's and those from npm, take a quote that is not closed for a cell that
 * goes on over the lines behind it; here it costs its own line, which is set aside with its text.
 */

/**
 * A cell in quotes may hold the delimiter, and a quote as two; blanks may stand around the quotes. Null where a quote is not closed, or
 * text stands beside it.
 */
export function cellsOf(line: string, delimiter: string): string[] | null {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  for (let at = 0; at <= line.length; ) {
    let end = endOf(line, delimiter, at);
    const opening = /^ *"/.exec(line.slice(at, end))?.[0];
    if (opening === undefined) cells.push(line.slice(at, end));
    else {
      const begin = at + opening.length;
      const close = closingQuote(line, begin);
      if (close < 0) return null;
      end = endOf(line, delimiter, close);
      if (line.slice(close + 1, end).trim() !== '') return null;
      cells.push(line.slice(begin, close).replaceAll('""', '"'));
    }
    at = end + delimiter.length;
  }
  return cells;
}

function endOf(line: string, delimiter: string, from: number): number {
  const end = line.indexOf(delimiter, from);
  return end < 0 ? line.length : end;
}

/** Where the quote stands that ends a cell; -1 when there is none. */
function closingQuote(line: string, from: number): number {
  let at = line.indexOf('"', from);
  while (at >= 0 && line[at + 1] === '"') at = line.indexOf('"', at + 2);
  return at;
}
