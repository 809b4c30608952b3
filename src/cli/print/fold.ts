/**
 * A text broken between words, so that no line is longer than `width` unless a word is. The first line begins with `first`, the others
 * stand below its text.
 */
export function fold(text: string, width: number, first = ''): string {
  const rest = ' '.repeat(first.length);
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = rest + word;
    } else line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join('\n');
}
