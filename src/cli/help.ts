/** Examples below the help of a command. */
import type { Command } from 'commander';

/** What is longer than this has its explanation on the line below. */
const WIDEST = 56;
const NARROWEST = 16;

/** Each example is what is typed after `partner-etl` and what that does. */
export function addExamples(command: Command, examples: readonly (readonly [string, string])[]): void {
  const typed = examples.map(([words]) => `partner-etl ${words}`.trimEnd());
  const width = Math.max(NARROWEST, ...typed.map((text) => text.length).filter((length) => length <= WIDEST));
  const lines = examples.map(([, does], i) => {
    const text = typed[i]!;
    return text.length <= WIDEST ? `  ${text.padEnd(width)}  ${does}` : `  ${text}\n  ${' '.repeat(width)}  ${does}`;
  });
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
