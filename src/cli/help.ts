/** What stands below the help of a command, as wide as the terminal. */
import type { Command } from 'commander';
import { fold } from './print/fold.ts';

/** What is longer than this has its explanation on the line below. */
const WIDEST = 56;
const NARROWEST = 16;
/** Where an explanation has less room than this beside the command, it stands below. */
const LEAST_ROOM = 30;

/** Each example is what is typed after `partner-etl` and what that does. */
export function addExamples(command: Command, examples: readonly (readonly [string, string])[]): void {
  addBelow(command, (width) => `\nExamples:\n${exampleLines(examples, width).join('\n')}`);
}

/** `textFor`: the text for lines of so many characters. */
export function addBelow(command: Command, textFor: (width: number) => string): void {
  command.addHelpText('after', ({ command: shown, error }) => {
    const { getOutHelpWidth, getErrHelpWidth } = shown.configureOutput();
    return textFor((error ? getErrHelpWidth : getOutHelpWidth)?.() ?? Number.POSITIVE_INFINITY);
  });
}

function exampleLines(examples: readonly (readonly [string, string])[], width: number): string[] {
  const typed = examples.map(([words]) => `partner-etl ${words}`.trimEnd());
  const beside = Math.max(NARROWEST, ...typed.map((text) => text.length).filter((length) => length <= WIDEST));
  const indent = beside + 4;
  const hasRoom = width - indent >= LEAST_ROOM;
  return examples.flatMap(([, does], i) => {
    const text = typed[i]!;
    if (!hasRoom) return [`  ${text}`, fold(does, width, '    ')];
    if (text.length > WIDEST) return [`  ${text}`, fold(does, width, ' '.repeat(indent))];
    return [fold(does, width, `  ${text.padEnd(beside)}  `)];
  });
}
