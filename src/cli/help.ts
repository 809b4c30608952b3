/** Examples below the help of a command. */
import type { Command } from 'commander';

/** Each example is what is typed after `partner-etl` and what that does. */
export function addExamples(command: Command, examples: readonly (readonly [string, string])[]): void {
  const typed = examples.map(([words]) => `partner-etl ${words}`.trimEnd());
  const width = Math.max(...typed.map((text) => text.length));
  const lines = examples.map(([, does], i) => `  ${typed[i]!.padEnd(width)}  ${does}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
