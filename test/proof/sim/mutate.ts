/** The text of a file with the mutant's change. */
import type { Mutant } from './mutant-list.ts';

/** Errors: where what is to be replaced does not stand there exactly once. */
export function mutated({ name, find, replace }: Mutant, text: string, file: string): string {
  const times = text.split(find).length - 1;
  if (times !== 1)
    throw new Error(
      `mutant ${name}: what it replaces stands ${times} times in ${file}; mend test/proof/sim/mutant-list.ts`,
    );
  return text.replace(find, () => replace);
}
