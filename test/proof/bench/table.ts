/** All figures of a run as one table for a terminal: long cells go on in further lines. */
import type { Result } from './place.ts';

interface Column {
  readonly head: string;
  /** Characters. */
  readonly width: number;
  readonly cell: (result: Result) => string;
}

const COLUMNS: readonly Column[] = [
  { head: 'what', width: 40, cell: ({ name }) => name },
  { head: 'figure', width: 50, cell: ({ figure }) => figure },
  { head: 'limit or peer of the same run', width: 38, cell: ({ limit }) => limit },
  { head: 'ratio', width: 6, cell: ({ ratio }) => (ratio === undefined ? '' : ratio.toFixed(2)) },
  { head: 'target', width: 24, cell: ({ target }) => target },
  { head: 'met', width: 6, cell: ({ met }) => verdictOf(met) },
];

const GAP = '  ';

export function verdictOf(met: boolean | null): string {
  return met === null ? '' : met ? 'met' : 'MISSED';
}

export function tableOf(results: readonly Result[]): string[] {
  const rule = COLUMNS.map(({ width }) => '─'.repeat(width)).join(GAP);
  const heads = rowOf(COLUMNS.map(({ head }) => head));
  return [...heads, rule, ...results.flatMap((result) => [...rowOf(COLUMNS.map(({ cell }) => cell(result))), rule])];
}

function rowOf(cells: readonly string[]): string[] {
  const wrapped = cells.map((cell, i) => wrap(cell, COLUMNS[i]!.width));
  const lines = Math.max(...wrapped.map((cell) => cell.length));
  return Array.from({ length: lines }, (_, line) =>
    wrapped
      .map((cell, i) => (cell[line] ?? '').padEnd(COLUMNS[i]!.width))
      .join(GAP)
      .trimEnd(),
  );
}

/** Breaks at spaces, and within a word only where it is longer than a line. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((w) => w.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [])) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
