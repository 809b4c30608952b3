/** A command that names an option it does not know before it asks for one that is missing: `--form` explains why `--from` is. */
import { Command } from 'commander';

export class StrictCommand extends Command {
  override createCommand(name?: string): StrictCommand {
    return new StrictCommand(name);
  }

  override parseOptions(words: string[]): ReturnType<Command['parseOptions']> {
    const parsed = super.parseOptions(words);
    const isHelp = parsed.unknown.some((word) => word === '-h' || word === '--help');
    const wrong = parsed.unknown.find((word) => word.startsWith('--'));
    // What a command of commands does not know may be an option of one of them.
    if (wrong !== undefined && !isHelp && this.commands.length === 0) this.refuse(wrong.split('=')[0]!);
    return parsed;
  }

  /** Throws, with a guess at what was meant. */
  private refuse(flag: string): void {
    // Commander's own, which its types leave out: it knows the options of the commands above as well.
    (this as unknown as { unknownOption(flag: string): void }).unknownOption(flag);
  }
}
