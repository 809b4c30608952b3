/** The commands in a Markdown text's code: what a reader would copy into a terminal. */

export interface ReadmeCommand {
  readonly program: 'npm' | 'partner-etl';
  readonly words: readonly string[];
  /** From 1. */
  readonly line: number;
}

/** Every `npx partner-etl …` (or `partner-etl …`) and `npm …` in fenced blocks of a shell, and in inline code. */
export function commandsIn(markdown: string): ReadmeCommand[] {
  const found: ReadmeCommand[] = [];
  let fence: string | null = null;
  let carried = '';
  for (const [i, text] of markdown.split('\n').entries()) {
    const mark = /^\s*```(\w*)/.exec(text);
    if (mark) {
      fence = fence === null ? mark[1]! : null;
      continue;
    }
    const line = i + 1;
    if (fence === null) {
      for (const [, code] of text.matchAll(/`([^`]+)`/g)) found.push(...commandsInLine(code!, line));
    } else if (/^(?:sh|bash|shell|console|)$/.test(fence)) {
      carried += text;
      if (carried.endsWith('\\')) carried = `${carried.slice(0, -1)} `;
      else {
        found.push(...commandsInLine(carried, line));
        carried = '';
      }
    }
  }
  return found;
}

function commandsInLine(text: string, line: number): ReadmeCommand[] {
  return sequences(text).flatMap((words): ReadmeCommand[] => {
    const start = words.findIndex((word) => !/^(?:[A-Z][A-Z0-9_]*=.*|\$|time|exec|export|cd|env)$/.test(word));
    const [program, ...rest] = words.slice(Math.max(0, start));
    if (program === 'npm' && rest.length > 0) return [{ program, words: rest, line }];
    if (program === 'partner-etl' && rest.length > 0) return [{ program, words: rest, line }];
    if (program === 'npx' && rest[0] === 'partner-etl' && rest.length > 1)
      return [{ program: 'partner-etl', words: rest.slice(1), line }];
    return [];
  });
}

/** The words of each command in a line of a shell: quotes taken off, comments and redirections left out. */
function sequences(text: string): string[][] {
  const all: string[][] = [[]];
  for (const [token] of text.matchAll(
    /(?:"(?:\\.|[^"\\])*"|'[^']*'|\$\([^)]*\)|[^\s"'|;&<>#]|(?<=\S)#)+|\|\|?|&&?|;|[<>]+\s*\S+|#.*/g,
  )) {
    if (token.startsWith('#')) break;
    if (/^[<>]/.test(token)) continue;
    if (/^(?:\|\|?|&&?|;)$/.test(token)) all.push([]);
    else all.at(-1)!.push(token.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'/g, '$1$2'));
  }
  return all;
}
